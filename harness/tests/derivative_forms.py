"""Operators whose kernels have derivatives of their own: `pytest --operators derivative_forms`."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from kernel_forms import like, operator

from event_ops_harness.conformance import Case, Operator
from ffi_bridge import XLACustomKernel, numba_function, numba_kernel


@numba.njit
def leaky_sum(x, decay, y):
    total = 0.0
    for i in range(x.size):
        total = decay[()] * total + x[i]
        y[i] = total


@numba.njit
def products_before(x):
    return np.cumprod(x)


def alone():
    """An operator that has neither a reference nor a rule: its derivatives are those of its kernel."""
    made = XLACustomKernel("alone")
    made.def_numba_kernel(lambda *, outs, **_: numba_kernel(leaky_sum, outs, differentiable=True))

    def oracle(x, decay, *, outs):
        return np.array([sum(decay ** (i - j) * x[j] for j in range(i + 1)) for i in range(x.size)])

    def make(rng, dtype, index_dtype):
        x = rng.normal(size=7).astype(dtype)
        return (x, np.asarray(0.9, dtype)), {"outs": jax.ShapeDtypeStruct(x.shape, x.dtype)}

    case = Case("of-7", make, differentiable=(0, 1))
    return Operator("alone", made, made, ("float32", "float64"), (case,), oracle=oracle)


def leaky_sums(x, decay):
    _, sums = jax.lax.scan(lambda y, x: (decay * y + x,) * 2, jnp.zeros_like(decay), x)
    return sums


WRITTEN = operator("written", leaky_sums, numba_kernel(leaky_sum, like, differentiable=True), numbers=1)
RETURNED = operator(
    "returned_products", lambda x: jnp.cumprod(x), numba_function(products_before, like, differentiable=True)
)
ALONE = alone()
WITHOUT = operator("without", leaky_sums, numba_kernel(leaky_sum, like), numbers=1)
RIGHT = (WRITTEN, RETURNED, ALONE)
OPERATORS = (*RIGHT, WITHOUT)
