"""Many Python threads call jitted kernels, serial and parallel, whichever threading layer Numba has."""

import pytest
from child_processes import succeed

pytestmark = pytest.mark.promise(1)


# None of them is entered: the first would end the process.
@pytest.mark.parametrize(
    "layer", ["workqueue", *(pytest.param(x, marks=pytest.mark.slow) for x in ("omp", "tbb"))]
)
@pytest.mark.parametrize(
    ("calls", "limit"),
    [(2000, 300), pytest.param(20_000, 900, marks=pytest.mark.slow)],
    ids=["2000", "20000"],
)
def test_16_threads_call_serial_and_parallel_kernels(layer, calls, limit, record_property):
    env = {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "4"}
    printed = succeed("calls_in_child.py", "16", str(calls), limit=limit, **env)
    record_property("tried", 16 * calls)
    assert printed.split() == [layer, str(16 * calls)]
