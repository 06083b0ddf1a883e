"""Floats of 16 bits as inputs of Numba kernels: every one of them, on any processor, and refusals."""

import child_python
import every_half
import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelTypeError

each = pytest.mark.parametrize("dtype", every_half.DTYPES)


@numba.njit
def double(x, out):
    for i in range(out.size):
        out[i] = x[i] + x[i]


@each
def test_every_one_becomes_its_float32(dtype):
    every_half.check_every_half(dtype)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [{"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, {"NUMBA_DISABLE_JIT": "1"}],
    ids=["processor without float16", "Python"],
)
def test_they_have_the_same_values_elsewhere(variables):
    child_python.output(every_half.__file__, **variables)


@each
def test_vmap_maps_an_axis_of_them(dtype):
    x = jnp.asarray(np.arange(6).reshape(2, 3), dtype)
    f = numba_kernel(every_half.widen, jax.ShapeDtypeStruct((3,), jnp.float32))
    np.testing.assert_array_equal(jax.vmap(f)(x), x.astype(jnp.float32))


@each
def test_arithmetic_is_refused_with_what_to_write_instead(dtype):
    f = numba_kernel(double, jax.ShapeDtypeStruct((3,), jnp.float32))
    with pytest.raises(
        KernelTypeError, match=r"does not compile.*read their elements as `np\.float32\(x\[i\]\)`"
    ):
        f(jnp.ones(3, dtype))


@each
def test_outputs_have_other_dtypes(dtype):
    f = numba_kernel(every_half.widen, jax.ShapeDtypeStruct((3,), dtype))
    with pytest.raises(
        KernelTypeError, match=r"'out' has dtype .*float16, which Numba kernels on CPU cannot"
    ):
        f(jnp.ones(3))
