"""Gradients that are written by hand are those by Enzyme: the benchmark times one beside the other."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives import needs_enzyme
from differentiable_by_hand import BY_HAND
from test_differentiable_kernels import ALL

from ffi_bridge import numba_kernel

pytestmark = needs_enzyme
QUICK = "csr_tanh"
NAMES = [pytest.param(x, marks=[pytest.mark.slow] * (x != QUICK)) for x in BY_HAND]


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name):
    (of,) = (x for x in ALL if str(x) == name)
    rng = np.random.default_rng(1)
    ins = [jnp.asarray(x) for x in of.inputs(rng, of.size)]
    floats = [i for i, x in enumerate(ins) if x.dtype == "float64"]
    kernel = numba_kernel(of.kernel, of.outs, scalar_argnames=of.scalars, differentiable=True)
    weights = jnp.asarray(rng.normal(size=jax.eval_shape(kernel, *ins).shape))

    def loss(function, *ins):
        return jnp.vdot(weights, function(*ins))

    expected, found = (
        jax.jit(jax.value_and_grad(functools.partial(loss, function), floats))(*ins)
        for function in (kernel, BY_HAND[name].function(of))
    )
    for wanted, got in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-10 * float(jnp.abs(wanted).max()))
