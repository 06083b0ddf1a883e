"""What calls, wrappers and kernels leave behind is bounded; an edited kernel is new code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.promise(8)

PROGRAM = Path(__file__).with_name("memory_growth.py")
KILOBYTE, MEGABYTE = 1 << 10, 1 << 20

# What they may leave behind, however many they are, and each of them: bytes. XLA may call a handler as long
# as the process lives, so that the machine code of a kernel stays; Numba keeps what it made it of. Of
# wrappers and calls nothing stays; JAX's own caches fill.
ALL = 12 * MEGABYTE
EACH = {"calls": 0, "wrappers": 4 * KILOBYTE, "kernels": 3 * MEGABYTE}

QUICK = {"calls": 20_000, "wrappers": 100, "kernels": 10}
FULL = {"calls": 100_000, "wrappers": 10_000, "kernels": 1000}


@pytest.mark.parametrize(
    ("what", "count"),
    [*QUICK.items(), *(pytest.param(*each, marks=pytest.mark.slow) for each in FULL.items())],
)
def test_what_one_more_leaves_behind(what, count, record_property):
    pytest.importorskip("numba", reason="the kernels are Numba's")
    if not Path("/proc/self/statm").exists():
        pytest.skip("resident memory is read from /proc")
    record_property("tried", count)
    command = [sys.executable, PROGRAM, what, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) < ALL + count * EACH[what]
