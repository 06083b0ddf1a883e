"""Check one operator: `nox -s operator -- NAME`, and then options of pytest; several names by commas.

Its cells of the quick profile on a CPU, its values on an emulated GPU where numba-cuda is installed, and the
tests of `ops/tests` that have its name. Only its own cells are collected. OPERATORS are those of `$OPERATOR`.
"""

import difflib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from event_ops.discover import Operator, operators
from event_ops_harness.conformance.plugin import command_of_pytest

ROOT = Path(__file__).parents[2]
NOTHING_COLLECTED = 5  # pytest's exit status


def named(names: str) -> list[Operator]:
    """Return the operators of these names; raise LookupError for another name."""
    by_name = {operator.name: operator for operator in operators()}
    for name in names.split(","):
        if name not in by_name:
            near = ", ".join(difflib.get_close_matches(name, by_name)) or ", ".join(by_name)
            raise LookupError(f"the catalog has no operator {name!r}; expected one such as {near}")
    return [by_name[name] for name in names.split(",")]


def runs(names: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each run of pytest."""
    yield ("--operators", "one_operator")
    if importlib.util.find_spec("numba_cuda"):
        yield ("--operators", "one_operator", "--emulate-gpu", "--properties", "values")
    word = re.compile(rf"\b({'|'.join(names.split(','))})\b")
    files = sorted((ROOT / "ops" / "tests").glob("test_*.py"))
    naming = [str(file) for file in files if word.search(file.read_text(encoding="utf-8"))]
    if naming:
        yield (*naming, "-m", "not slow and not promise", "-k", " or ".join(names.split(",")))


def main(argv: Sequence[str]) -> int:
    """Do all runs; return 1 if one of them failed, 2 without a name of an operator."""
    try:
        if not argv:
            raise LookupError("name an operator: nox -s operator -- csr_matvec")
        named(argv[0])
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    env = os.environ | {"OPERATOR": argv[0]}
    codes = [
        subprocess.run([*command_of_pytest(), *words, *argv[1:]], cwd=ROOT, env=env).returncode
        for words in runs(argv[0])
    ]
    return int(any(code not in (0, NOTHING_COLLECTED) for code in codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

OPERATORS = named(os.environ.get("OPERATOR", ""))
