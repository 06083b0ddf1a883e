"""Read every float of 16 bits in a Numba kernel; as a program, in a process whose environment says how."""

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge import numba_kernel

DTYPES = (jnp.float16, jnp.bfloat16)


@numba.njit
def widen(x, out):
    for i in range(out.size):
        out[i] = np.float32(x[i])


def check_every_half(dtype):
    """Raise AssertionError unless every pattern of bits becomes the float32 of the same value."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    out = jax.jit(numba_kernel(widen, jax.ShapeDtypeStruct(x.shape, jnp.float32)))(x)
    np.testing.assert_array_equal(out, x.astype(np.float32))


if __name__ == "__main__":
    for dtype in DTYPES:
        check_every_half(dtype)
