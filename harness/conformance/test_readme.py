import re
import shutil
from pathlib import Path

import child_python
import pytest

from event_ops.discover import operators
from ffi_bridge.errors import MissingRuleError
from ffi_bridge.numba_cpu.derivatives import enzyme

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def programs(readme):
    return re.findall(r"^```python\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)


PROGRAMS = programs(README)


def run(program, folder, *flags):
    path = folder / "program.py"
    path.write_text(program)
    return child_python.output("-W", "error", *flags, path, cwd=folder, new=True)


def test_the_program_prints_its_result_in_at_most_twelve_lines(tmp_path):
    assert len([line for line in PROGRAMS[0].splitlines() if line.strip()]) <= 12
    assert re.fullmatch(r"\d+ of 4000 neurons receive input\n", run(PROGRAMS[0], tmp_path))


@pytest.mark.slow
def test_the_kernel_of_ones_own_runs(tmp_path):
    assert run(PROGRAMS[1], tmp_path) == "[0. 1. 3. 6.]\n"


def test_the_matrix_of_the_operators_readme_runs(tmp_path):
    program, _ = programs(ROOT / "ops/README.md")
    shown, learn = run(program, tmp_path).split("\n", 1)
    assert shown.startswith("CSR(1000 x 1000, 999 entries")
    assert learn == "[  0 100 200 300 400 500 600 700 800 900]\n"


def test_what_is_wrong_is_shown_as_the_operators_readme_says(tmp_path):
    _, program = programs(ROOT / "ops/README.md")
    said = re.search(r"# (.*); \.\.\.", program)[1]
    assert run(program, tmp_path).startswith(said)


@pytest.mark.slow
def test_the_function_of_the_bridge_readme_runs(tmp_path):
    program, *_ = programs(ROOT / "packages/ffi-bridge/README.md")
    assert run(program, tmp_path) == "[[1. 2.]\n [0. 4.]]\n"


def test_the_derivative_of_the_bridge_readme_is_a_difference(tmp_path):
    try:
        enzyme.python()
    except MissingRuleError as error:
        pytest.skip(str(error))

    def last(rate):
        n = 0.1
        for _ in range(19):
            n += rate * n * (1 - n)
        return n

    _, program, *_ = programs(ROOT / "packages/ffi-bridge/README.md")
    expected = (last(0.3 + 1e-6) - last(0.3 - 1e-6)) / 2e-6
    assert float(run(program, tmp_path)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_the_warp_kernel_of_the_bridge_readme_runs(tmp_path):
    _, _, program, _ = programs(ROOT / "packages/ffi-bridge/README.md")
    assert run(program, tmp_path).endswith("[ 2. -2. -4.]\n")


@pytest.mark.slow
def test_the_cuda_kernel_of_the_bridge_readme_runs_without_a_gpu(tmp_path):
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    *_, program = programs(ROOT / "packages/ffi-bridge/README.md")
    # numba-cuda 0.30 with NumPy 2.5 warns as it is imported.
    shown = run(program, tmp_path, "-W", "ignore:The 'generic' unit:DeprecationWarning")
    assert shown == "[ 56. 184. 312.]\n[('add', (1, 1, 3), (8, 1, 1))]\n"


@pytest.mark.slow
def test_the_kernel_of_the_readme_of_ptx_on_cpu_prints_what_is_below_it(tmp_path):
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    readme = ROOT / "packages/ptx-on-cpu/README.md"
    said = re.search(r"^```\n(\[64.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)[1]
    (program,) = programs(readme)
    # numba-cuda 0.30 reads a name that NumPy 2.5 no longer has, and with it warns as it is imported.
    workaround = "import numpy\nnumpy.__dict__.setdefault('row_stack', numpy.vstack)\n"
    shown = run(workaround + program, tmp_path, "-W", "ignore:The 'generic' unit:DeprecationWarning")
    # Which instructions there are depends on the compiler; what they do with memory does not.
    pattern = r"\[64.*|global memory.*|argument .*|kernel 'row_sums'.*"
    assert re.findall(pattern, shown) == re.findall(pattern, said) and len(re.findall(pattern, said)) == 5


def test_the_tables_of_operators_are_current(tmp_path):
    files = [README, ROOT / "ops/README.md"]
    copies = [Path(shutil.copy(file, tmp_path / str(i))) for i, file in enumerate(files)]
    child_python.output("-m", "event_ops_harness.table", "--write", *copies)
    for file, copy in zip(files, copies, strict=True):
        assert copy.read_text() == file.read_text(), "out of date: run `nox -s table`"
        assert not [operator.name for operator in operators() if f"`{operator.name}`" not in file.read_text()]


def test_the_readme_stays_short():
    assert len(README.read_text().splitlines()) <= 120


def test_cells_of_the_readme_are_short():
    text = re.sub(r"<!-- families:begin.*families:end -->", "", README.read_text(), flags=re.DOTALL)
    cells = [cell for line in text.splitlines() if line.startswith("|") for cell in line.split("|")]
    words = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).split() for cell in cells]
    assert not [cell for cell in words if len(cell) > 15]


def test_what_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)", README.read_text())
    assert len(links) > 10 and not [link for link in links if not (ROOT / link).exists()]


def test_the_pages_for_contributors_name_every_session():
    sessions = re.findall(
        r"^@nox\.session.*\n(?:@.*\n)*def (\w+)\(", (ROOT / "noxfile.py").read_text(), re.MULTILINE
    )
    said = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(sessions) > 20 and not [name for name in sessions if not re.search(rf"[ `]{name}[-` ]", said)]


@pytest.mark.parametrize("task", ["demo", "tests"])
def test_the_two_commands_name_sessions_that_exist(task):
    noxfile = README.with_name("noxfile.py").read_text()
    assert f".venv/bin/nox -s {task}\n" in README.read_text()
    assert f"def {task}(session: nox.Session)" in noxfile
