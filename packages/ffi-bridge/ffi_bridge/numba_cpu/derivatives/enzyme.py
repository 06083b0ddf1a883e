"""Have Enzyme make a derivative, or say why not."""

from __future__ import annotations

import functools
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
_MISMATCH: Final = "Mismatched activity"
_PROBLEM: Final = re.compile(r"(?:error|warning): [^\n]*Enzyme: ?([^\n]*)")
_ASSERTION: Final = re.compile(r"^(?:.*(?:Assertion|LLVM ERROR|cannot|Illegal|failed)[^\n]*)$", re.M)


class NotDecided(Exception):
    """Enzyme cannot tell before the code runs which pointers lead to what has derivatives."""


def differentiated(text: str, kernel: str) -> str:
    """Return LLVM's text of the derivative that `text` asks for; raise MissingRuleError if there is none."""
    with tempfile.TemporaryDirectory(prefix="ffi_bridge_") as folder:
        file = Path(folder) / "kernel.ll"
        file.write_text(text)
        run = subprocess.run(
            [python(), "-I", str(_CHILD), str(file)], capture_output=True, text=True, check=False
        )
        found = file.read_text()
    if _MISMATCH in run.stderr:
        raise NotDecided
    if run.returncode or _PROBLEM.search(run.stderr):
        raise MissingRuleError(
            f"kernel '{kernel}': Enzyme cannot differentiate it: {_reason(run.stderr) or run.returncode}; "
            "write the kernel without that, or give it a rule: jax.custom_jvp, jax.custom_vjp, or an "
            "XLACustomKernel with a reference"
        )
    return found


@functools.cache
def python() -> str:
    """Return the Python whose enzyme-ad is used; raise MissingRuleError if there is none."""
    if named := os.environ.get(VARIABLE):
        return named
    if importlib.util.find_spec("enzyme_ad") is None:
        raise MissingRuleError(
            "differentiable=True needs the package enzyme-ad, which Python "
            f"{sys.version_info.major}.{sys.version_info.minor} here does not have; under Python 3.12 on "
            "Linux, `pip install 'ffi-bridge[enzyme]'`; under another version, let the environment variable "
            f"{VARIABLE} name the python of an environment of 3.12 with enzyme-ad in it"
        )
    return sys.executable


def _reason(messages: str) -> str:
    found = _PROBLEM.search(messages) or _ASSERTION.search(messages)
    return "" if found is None else found[found.lastindex or 0].strip()[:300]
