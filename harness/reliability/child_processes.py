"""Programs beside this file, each in a process of its own: a crash or a hang there is a failure here."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import child_python
import pytest

_HERE: Final = Path(__file__).parent
# Programs that test what is imported, and in which order, and what one process keeps for the next.
NEW: Final = {"kept_programs.py", "other_libraries.py", "without_network.py"}
_NO_LAYER: Final = "No threading layer could be loaded"


@dataclass(frozen=True)
class Ended:
    """How a process ended: `code` is negative after a signal."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit {self.code}\n{self.out[-4000:]}\n{self.err[-8000:]}"


def run(program: str, *arguments: object, limit: float, **env: str) -> Ended:
    """What came of `program`; a process that has not ended after `limit` seconds fails the test."""
    try:
        done = child_python.run(_HERE / program, *arguments, timeout=limit, new=program in NEW, **env)
    except subprocess.TimeoutExpired as hung:
        words = " ".join([program, *map(str, arguments)])
        pytest.fail(f"{words} did not end within {limit} s\n{hung.stdout}\n{hung.stderr}")
    return Ended(done.returncode, done.stdout, done.stderr)


def succeed(program: str, *arguments: object, limit: float, **env: str) -> str:
    """What `program` printed; it must end with 0. Skips where Numba's threading layer cannot be loaded."""
    ended = run(program, *arguments, limit=limit, **env)
    if _NO_LAYER in ended.err:
        pytest.skip(
            f"Numba's threading layer {env['NUMBA_THREADING_LAYER']} cannot be loaded on this machine"
        )
    assert ended.code == 0, str(ended)
    return ended.out
