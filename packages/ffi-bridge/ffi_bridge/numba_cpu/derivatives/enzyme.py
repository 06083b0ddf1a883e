"""Have Enzyme make a derivative, or say why not."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from ffi_bridge.errors import MissingRuleError

VARIABLE: Final = "FFI_BRIDGE_ENZYME_PYTHON"
_CHILD: Final = Path(__file__).with_name("child.py")
BY_ADDRESS: Final = "a C function or a global array by its address"
OF_OTHER_TYPES: Final = "the same bytes for numbers of different types, as integers and as floats"
_UNDECIDED: Final = re.compile("Mismatched activity|Cannot deduce type")
_PROBLEM: Final = re.compile(r"(?:error|warning): [^\n]*Enzyme: ?([^;\n][^\n]*)")
_OTHER: Final = re.compile(r"^(?:.*(?:Assertion|LLVM ERROR|cannot|Illegal|failed|Enzyme:)[^\n]*)$", re.M)


class NotDecided(MissingRuleError):
    """Enzyme cannot tell which pointers lead to what has derivatives, or to numbers; of other code it may."""


def differentiated(text: str, kernel: str) -> str:
    """Return LLVM's text of the derivative that `text` asks for; raise MissingRuleError if there is none."""
    with tempfile.TemporaryDirectory(prefix="ffi_bridge_") as folder:
        file = Path(folder) / "kernel.ll"
        file.write_text(text)
        run = _run(file)
        found = file.read_text()
    undecided = bool(_UNDECIDED.search(run.stderr))
    if undecided or run.returncode or "Enzyme: " in run.stderr:
        raise (NotDecided if undecided else MissingRuleError)(
            f"kernel '{kernel}': Enzyme cannot differentiate it: {_reason(run)}; "
            "write the kernel without that, or give it a rule: jax.custom_jvp, jax.custom_vjp, or an "
            "XLACustomKernel with a reference"
        )
    return found


def _run(file: Path) -> subprocess.CompletedProcess[str]:
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
            f"{sys.version_info.major}.{sys.version_info.minor}, does not have: `uv pip install "
            "'ffi-bridge[enzyme]'` on Linux (pip finds it under Python 3.11 alone), or let the environment "
            f"variable {VARIABLE} name the python of another environment that has it"
        )
    return sys.executable


def _reason(run: subprocess.CompletedProcess[str]) -> str:
    if "marked shadow global" in run.stderr:
        return f"it uses {BY_ADDRESS}"
    if "Illegal updateAnalysis" in run.stderr:
        return f"it uses {OF_OTHER_TYPES}"
    found = _PROBLEM.search(run.stderr) or _OTHER.search(run.stderr)
    if found is not None:
        return found[found.lastindex or 0].strip()[:300]
    return (
        f"it ended with signal {-run.returncode}" if run.returncode < 0 else f"it ended with {run.returncode}"
    )
