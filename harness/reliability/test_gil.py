"""A kernel holds no GIL: Python threads go on while it runs."""

from __future__ import annotations

import pytest
from child_processes import succeed

pytestmark = pytest.mark.promise(2)


@pytest.mark.parametrize("dispatch", ["0", "1"], ids=["on the caller's thread", "dispatched"])
@pytest.mark.parametrize(
    ("kernel", "way"),
    [
        ("spin_serial", "eager"),
        ("spin_serial", "scan"),
        ("spin_parallel", "jit"),
        pytest.param("spin_and_raise", "jit", marks=pytest.mark.slow),
        pytest.param("spin_serial", "jit", marks=pytest.mark.slow),
        pytest.param("spin_parallel", "eager", marks=pytest.mark.slow),
        pytest.param("spin_parallel", "scan", marks=pytest.mark.slow),
    ],
)
def test_another_python_thread_goes_on_while_a_kernel_runs(kernel, way, dispatch):
    env = {"JAX_CPU_ENABLE_ASYNC_DISPATCH": dispatch, "NUMBA_NUM_THREADS": "2"}
    longest = float(succeed("gil_in_child.py", kernel, way, limit=120, **env))
    # With the GIL held it would be 1.
    assert longest < 0.5, f"a Python thread stood still for {longest:.0%} of the kernel's time"
