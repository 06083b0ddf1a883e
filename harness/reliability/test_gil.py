"""A kernel holds no GIL: Python threads go on while it runs."""

import pytest
from child_processes import succeed

pytestmark = pytest.mark.promise(2)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("kernel", "way", "dispatch"),
    [
        ("spin_serial", "eager", "0"),  # on the thread that calls
        ("spin_parallel", "jit", "1"),  # on one of XLA's, where it likes to
        *(
            pytest.param(kernel, way, dispatch, marks=SLOW)
            for kernel in ("spin_serial", "spin_parallel", "spin_and_raise")
            for way in ("eager", "jit", "scan")
            for dispatch in "01"
        ),
    ],
)
def test_another_python_thread_goes_on_while_a_kernel_runs(kernel, way, dispatch):
    env = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": dispatch, "NUMBA_NUM_THREADS": "2"}
    longest = float(succeed("gil_in_child.py", kernel, way, limit=120, **env))
    # With the GIL held it would be 1.
    assert longest < 0.5, f"a Python thread stood still for {longest:.0%} of the kernel's time"
