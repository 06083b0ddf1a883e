"""Have Enzyme make a derivative, or say why not, and by which line of Python.

Numba says of each instruction of the user's functions from which line it is, in the debug information of
LLVM's text. Its own code for a function of NumPy is called from there.
"""

import importlib.util
import linecache
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numba

from ffi_bridge.errors import MissingRuleError

_NUMBA: Final = os.path.dirname(numba.__file__)
_NAME: Final = r"@(\"[^\"]+\"|[\w.$-]+)"
_FUNCTION: Final = re.compile(rf"^define [^\n]*?{_NAME}\([^\n]*\{{\n(.*?)^\}}\n", re.M | re.S)
_CALLED: Final = re.compile(rf" call [^\n(]*?{_NAME}\(")
_AT: Final = re.compile(r"!dbg !(\d+)")
_NODE: Final = re.compile(
    r"^!(\d+) = (?:distinct )?!DI(Location|Subprogram|LexicalBlock|File)\((.*)\)$", re.M
)
_FIELD: Final = re.compile(r"(\w+): (?:\"([^\"]*)\"|!?(\d+))")
# Functions that put together what an exception says.
_OF_ERRORS: Final = re.compile(r"raise_with_shape_context|excinfo")


@contextmanager
def debug_information(dispatchers: Sequence[Any]) -> Generator[None]:
    """Compile these within the block with the lines of their source; Numba warns where there is none."""
    options = [x.targetoptions for x in dispatchers if hasattr(x, "targetoptions")]
    before = [dict(x) for x in options]
    try:
        for x in options:
            x["debug"] = True
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        for x, settings in zip(options, before, strict=True):
            x.clear()
            x.update(settings)


class Lines:
    """The lines of the user's functions in the text of a module."""

    def __init__(self, text: str, kernel: str) -> None:
        self._kernel = kernel
        self._functions = {name.strip('"'): body.split("\n") for name, body in _FUNCTION.findall(text)}
        self._nodes = {
            number: {name: word or digits for name, word, digits in _FIELD.findall(fields)}
            for number, _, fields in _NODE.findall(text)
        }

    def first(self, wanted: re.Pattern[str], source: re.Pattern[str]) -> str:
        """Return place and code of the first line with an instruction, and a source, like these; "" for none.

        A line that raises is passed over, and one whose source is not at hand.
        """
        for file, line in self._search(self._kernel, None, wanted, set()):
            code = linecache.getline(file, line).strip()
            if code and source.search(code) and not code.startswith("raise"):
                return f"{file}:{line}, `{code}`"
        return ""

    def _search(
        self, function: str, at: tuple[str, int] | None, wanted: re.Pattern[str], seen: set[str]
    ) -> Iterator[tuple[str, int]]:
        """Yield the places of instructions, of callees where they are called."""
        seen.add(function)
        for instruction in self._functions.get(function, ()):
            place = self._place(instruction) or at
            if place and wanted.search(instruction):
                yield place
            called = _CALLED.search(instruction)
            inside = called[1].strip('"') if called else ""
            if inside in self._functions and inside not in seen and not _OF_ERRORS.search(inside):
                yield from self._search(inside, place, wanted, seen)

    def _place(self, instruction: str) -> tuple[str, int] | None:
        mark = _AT.search(instruction)
        node = self._nodes.get(mark[1], {}) if mark else {}
        line, scope = int(node.get("line", 0)), self._nodes.get(node.get("scope", ""), {})
        file = self._nodes.get(scope.get("file", ""), {})
        path = os.path.join(file.get("directory", ""), file.get("filename", ""))
        return (path, line) if line and not path.startswith(_NUMBA) else None


VARIABLE: Final = "FFI_BRIDGE_ENZYME_PYTHON"
_CHILD: Final = Path(__file__).with_name("child.py")
BY_ADDRESS: Final = "a C function or a global array by its address"
OF_OTHER_TYPES: Final = "the same bytes for numbers of different types, as integers and as floats"
_UNDECIDED: Final = re.compile("Mismatched activity|Cannot deduce type")
_PROBLEM: Final = re.compile(r"(?:error|warning): [^\n]*Enzyme: ?([^;\n][^\n]*)")
_OTHER: Final = re.compile(r"^(?:.*(?:Assertion|LLVM ERROR|cannot|Illegal|failed|Enzyme:)[^\n]*)$", re.M)


class NotDecided(MissingRuleError):
    """Enzyme cannot tell which pointers lead to active memory, or to numbers; of rewritten code it may."""


def differentiated(text: str, kernel: str) -> str:
    """Return LLVM's text of the derivative that `text` asks for; raise MissingRuleError if there is none."""
    with tempfile.TemporaryDirectory(prefix="ffi_bridge_") as folder:
        file = Path(folder) / "kernel.ll"
        file.write_text(text)
        run = _run(file)
        derivative = file.read_text()
    undecided = bool(_UNDECIDED.search(run.stderr))
    # Of some failures Enzyme only warns, and ends as if all were well.
    if undecided or run.returncode or "Enzyme: " in run.stderr:
        raise (NotDecided if undecided else MissingRuleError)(
            f"kernel '{kernel}': Enzyme cannot differentiate it: {_reason(run)}; "
            "write the kernel without that, or give it a rule: jax.custom_jvp, jax.custom_vjp, or an "
            "XLACustomKernel with a reference"
        )
    return derivative


def _run(file: Path) -> subprocess.CompletedProcess[str]:
    # -I: PYTHONPATH and the current folder are for this Python, not for that one.
    command = [python(), "-I", str(_CHILD), str(file)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise MissingRuleError(
            f"{VARIABLE} is {command[0]!r}, which does not run: {error.strerror}; expected the python of an "
            "environment with the package enzyme-ad"
        ) from error


def python() -> str:
    """Return the Python whose enzyme-ad is used; raise MissingRuleError if there is none."""
    if named := os.environ.get(VARIABLE):
        return named
    if importlib.util.find_spec("enzyme_ad") is None:
        raise MissingRuleError(
            "differentiable=True needs the package enzyme-ad, which this Python, "
            f"{sys.version_info.major}.{sys.version_info.minor}, does not have: on Linux "
            "`uv pip install 'ffi-bridge[enzyme]'`, or `pip install --no-deps --ignore-requires-python "
            f"enzyme-ad==0.0.16`, or let the environment variable {VARIABLE} name the python of another "
            "environment that has it"
        )
    return sys.executable


def _reason(run: subprocess.CompletedProcess[str]) -> str:
    if "marked shadow global" in run.stderr:
        return f"it uses {BY_ADDRESS}"
    if "Illegal updateAnalysis" in run.stderr:
        return f"it uses {OF_OTHER_TYPES}"
    problem = _PROBLEM.search(run.stderr) or _OTHER.search(run.stderr)
    if problem is not None:
        return problem[problem.lastindex or 0].strip()[:300]
    return (
        f"it ended with signal {-run.returncode}" if run.returncode < 0 else f"it ended with {run.returncode}"
    )
