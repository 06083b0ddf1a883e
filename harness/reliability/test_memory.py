"""What calls, wrappers and kernels leave behind is bounded; an edited kernel is new code."""

import pytest
from child_processes import succeed
from resident import STATM

pytestmark = pytest.mark.promise(8)

KILOBYTE, MEGABYTE = 1 << 10, 1 << 20

# What they may leave behind, however many they are, and each of them: bytes. XLA may call a handler as long
# as the process lives, so that the machine code of a kernel stays; Numba keeps what it made it of. Of
# wrappers and calls nothing stays; JAX's own caches fill.
ALL = 12 * MEGABYTE
EACH = {"calls": 0, "wrappers": 4 * KILOBYTE, "kernels": 500 * KILOBYTE}

QUICK = {"calls": 20_000, "wrappers": 100, "kernels": 10}
FULL = {"calls": 100_000, "wrappers": 10_000, "kernels": 1000}


@pytest.mark.parametrize(
    ("what", "count"),
    [*QUICK.items(), *(pytest.param(*each, marks=pytest.mark.slow) for each in FULL.items())],
)
def test_what_one_more_leaves_behind(what, count, record_property):
    pytest.importorskip("numba", reason="the kernels are Numba's")
    if not STATM.exists():
        pytest.skip("resident memory is read from /proc")
    record_property("tried", count)
    left = int(succeed("memory_growth.py", what, count, limit=3600))
    assert left < ALL + count * EACH[what]
