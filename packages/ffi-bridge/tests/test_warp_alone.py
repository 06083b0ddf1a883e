"""`pip install "ffi-bridge[warp]"` brings no Numba: Warp kernels do without."""

import child_python
import pytest

PROGRAM = """
import sys
sys.modules["numba"] = None
import jax
import jax.numpy as jnp
import warp as wp
from ffi_bridge import warp_kernel

@wp.kernel
def double(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = 2.0 * x[i]

call = warp_kernel(double, outs=jax.ShapeDtypeStruct((2,), jnp.float32), launch_dims=2)
print(call(jnp.arange(2.0)), jax.vmap(call)(jnp.ones((3, 2))).sum())
"""


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("debug", ["0", "1"])
def test_warp_kernels_run_where_numba_is_not_installed(tmp_path, debug):
    pytest.importorskip("warp", reason="warp-lang is not installed")
    program = tmp_path / "program.py"  # Warp reads the sources of kernels
    program.write_text(PROGRAM)
    printed = child_python.output(program, new=True, FFI_BRIDGE_DEBUG=debug)
    assert printed.splitlines()[-1] == "[0. 2.] 12.0"
