"""Check one operator: `nox -s operator -- NAME`, and then options of pytest; several names by commas.

Its cells of the quick profile on a CPU, its values on an emulated GPU where numba-cuda is installed, the
tests of `ops/tests` that have its name, and style and types of its folder where ruff and pyright are. Only
its own cells are collected, and what is compiled is kept. OPERATORS are those of `$OPERATOR`.
"""

import difflib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from event_ops.discover import Operator, operators
from event_ops_harness.conformance.plugin import command_of_pytest

ROOT = Path(__file__).parents[2]
NOTHING_COLLECTED = 5  # pytest's exit status
KEPT = ROOT / ".nox" / "compiled"
# As conftest.py has it, which runs of cells do not load.
COMPILING = {
    "FFI_BRIDGE_CACHE_DIR": str(KEPT / "kernels"),
    "JAX_COMPILATION_CACHE_DIR": str(KEPT / "programs"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def named(names: str) -> list[Operator]:
    """Return the operators of these names; raise LookupError for another name."""
    by_name = {operator.name: operator for operator in operators()}
    for name in names.split(","):
        if name not in by_name:
            near = ", ".join(difflib.get_close_matches(name, by_name)) or ", ".join(by_name)
            raise LookupError(f"the catalog has no operator {name!r}; expected one such as {near}")
    return [by_name[name] for name in names.split(",")]


def runs(names: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each run of pytest, the longest one first."""
    yield ("--operators", "one_operator")
    word = re.compile(rf"\b({'|'.join(names.split(','))})\b")
    files = sorted((ROOT / "ops" / "tests").glob("test_*.py"))
    naming = [str(file) for file in files if word.search(file.read_text(encoding="utf-8"))]
    if naming:
        yield (*naming, "-m", "not slow and not promise", "-k", " or ".join(names.split(",")))
    if importlib.util.find_spec("numba_cuda"):
        yield ("--operators", "one_operator", "--emulate-gpu", "--properties", "values")


def style_and_types(folders: Sequence[str]) -> Iterator[list[str]]:
    """Yield the commands that look at sources."""
    for module, *words in (("pyright",), ("ruff", "check", "-q"), ("ruff", "format", "--check", "-q")):
        if importlib.util.find_spec(module):
            yield [sys.executable, "-m", module, *words, *folders]


def main(argv: Sequence[str]) -> int:
    """Do all runs, two at a time; return 1 if one of them failed, 2 without a name of an operator."""
    try:
        if not argv:
            raise LookupError("name an operator: nox -s operator -- csr_matvec")
        folders = [str(Path(inspect.getfile(operator.function)).parent) for operator in named(argv[0])]
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    commands = [[*command_of_pytest(), *words, *argv[1:]] for words in runs(argv[0])]
    commands[1:1] = style_and_types(folders)
    env = COMPILING | os.environ | {"OPERATOR": argv[0]}

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)

    with ThreadPoolExecutor(2) as pool:
        failed = [show(done) for done in pool.map(run, commands)]
    return int(any(failed))


def show(done: subprocess.CompletedProcess[str]) -> bool:
    """Print what a command printed; return whether it failed."""
    print(done.stdout, end="", flush=True)
    print(done.stderr, end="", file=sys.stderr, flush=True)
    return done.returncode not in (0, NOTHING_COLLECTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

OPERATORS = named(os.environ.get("OPERATOR", ""))
