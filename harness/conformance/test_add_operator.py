"""An operator is one folder and one line: the README's four steps, done in a copy of ops."""

import os
import re
import shutil
from pathlib import Path

import child_python
import pytest

from event_ops.catalog.scatter_add.op import kernel as neighbour

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).with_name("axpy")
LINE = "from event_ops.catalog.axpy.op import axpy as axpy"
FIRST = "from event_ops.catalog."
TESTS = ("ops/tests/test_errors.py", "ops/tests/test_package.py", "harness/conformance/test_catalog.py")
PROPERTIES = ("values", "jit", "vmap", "scan", "vjp")


@pytest.fixture
def copy(tmp_path):
    """Copy the operators and their tests, with axpy among them but for the line that exports it."""
    root = tmp_path / "copy"
    unwanted = shutil.ignore_patterns("__pycache__")
    for part in ("ops/event_ops", "ops/tests", "ci"):
        shutil.copytree(ROOT / part, root / part, ignore=unwanted)
    for name in ("catalog_operators.py", "reviewed.py", "test_catalog.py"):
        (root / "harness/conformance").mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(__file__).with_name(name), root / "harness/conformance")
    for part in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / part, root)
    shutil.copytree(FOLDER, root / "ops/event_ops/catalog/axpy", ignore=unwanted)
    return root


def export(root):
    path = root / "ops/event_ops/__init__.py"
    before, first, after = path.read_text().partition(FIRST)
    path.write_text(f"{before}{LINE}\n{first}{after}")


def python(root, *arguments):
    """Run Python with the copied operators in front of the installed ones."""
    path = os.pathsep.join([str(root / "ops"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return child_python.run("-m", *arguments, cwd=root, new=True, PYTHONPATH=path)


def run_tests(root, tests, expression):
    options = ("-v", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", expression)
    return python(root, "pytest", *options, *tests)


@pytest.mark.slow
def test_an_operator_is_a_folder_and_a_line(copy):
    export(copy)
    done = run_tests(copy, TESTS, "(axpy or a_folder_is) and not bounds")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_every_operator_is_exported[axpy] PASSED" in done.stdout
    for backend in neighbour.available_backends("cpu"):
        for name in PROPERTIES:
            cells = rf"test_cell\[axpy-{backend}-random-float(32|64-int64)-{name}\] PASSED"
            assert re.search(cells, done.stdout), (name, backend)
    skipped = re.findall(r"(\S+) SKIPPED", done.stdout)
    # It declares no such rule, and its kernels have no derivatives of their own.
    assert all(name.endswith(("-transpose]", "-kernel_derivatives]")) for name in skipped), skipped
    table = python(copy, "event_ops_harness.table")
    assert "| `axpy` | `z = a * x + y` for vectors x and y" in table.stdout, table.stderr


def test_a_forgotten_export_fails_with_the_line_to_add(copy):
    done = run_tests(copy, ["ops/tests/test_package.py"], "axpy")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_every_operator_is_exported[axpy] FAILED" in done.stdout
    assert re.search(rf"add this line to event_ops/__init__.py:\nE +{re.escape(LINE)}\n", done.stdout)


def test_the_readme_names_every_file_of_the_four_steps():
    section = (ROOT / "README.md").read_text().split("\n## Add an operator\n")[1].split("\n## ")[0]
    steps = [line for line in section.splitlines() if line[:1].isdigit()]
    assert [step[:3] for step in steps] == ["1. ", "2. ", "3. ", "4. "]
    files = [path.name for path in FOLDER.glob("*.py")]
    assert not [name for name in (*files, "ops/event_ops/__init__.py") if f"`{name}`" not in section]
