"""What calls, wrappers and kernels leave behind is bounded; an edited kernel is new code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.promise(8)

PROGRAM = Path(__file__).with_name("memory_growth.py")
KILOBYTE = 1024

# Bytes that one of each may leave behind. XLA may call a handler as long as the process lives, so that the
# machine code of a kernel stays; what wraps it does not.
BOUNDS = {"calls": 0.1 * KILOBYTE, "wrappers": 8 * KILOBYTE, "kernels": 1024 * KILOBYTE}

QUICK = {"calls": 20_000, "wrappers": 500, "kernels": 10}
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
    assert json.loads(done.stdout) < BOUNDS[what]
