"""Derivatives of kernels of many kinds: beside differences, each other, and those of twins in JAX.

test_derivatives.py runs this in a process whose new memory is not zero.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives import needs_enzyme
from test_differentiable_kernels import ALL

from ffi_bridge import numba_kernel

pytestmark = needs_enzyme
STEP = 1e-5
QUICK = {"american_put"}
TWICE = {"american_put", "hodgkin_huxley", "heat_flow", "kuramoto", "kalman_filter", "soft_dtw"}


@pytest.fixture(autouse=True)
def _optimized():
    """With few optimizations, XLA of jax 0.10 computes a derivative of `american_put`'s twin wrongly."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)  # as conftest.py does


class OfFloats:
    """A kernel and its twin as functions of their inputs of float64, with a direction and a covector."""

    def __init__(self, differentiable):
        rng = np.random.default_rng(1)
        ins = [jnp.asarray(x) for x in differentiable.inputs(rng, differentiable.size)]
        floats = [i for i, x in enumerate(ins) if x.dtype == "float64"]
        self.at = [ins[i] for i in floats]
        self.direction = [jnp.asarray(rng.normal(size=x.shape)) for x in self.at]
        kernel = numba_kernel(
            differentiable.kernel,
            differentiable.outs,
            scalar_argnames=differentiable.scalars,
            differentiable=True,
        )

        def of_floats(function):
            def call(given):
                whole = list(ins)
                for i, x in zip(floats, given, strict=True):
                    whole[i] = x
                return jax.tree.leaves(function(*whole))

            return call

        self.kernel, self.twin = of_floats(kernel), of_floats(differentiable.twin)
        self.covector = [jnp.asarray(rng.normal(size=y.shape)) for y in jax.eval_shape(self.kernel, self.at)]

    def moved(self, steps):
        return [x + steps * STEP * t for x, t in zip(self.at, self.direction, strict=True)]

    def gradient(self, function):
        return jax.jit(jax.grad(lambda floats: dot(self.covector, function(floats))))

    def differences(self, function):
        """Return the derivative in the direction by central differences of fourth order."""
        values = zip(*(function(self.moved(steps)) for steps in (1, -1, 2, -2)), strict=True)
        return [(8 * (a - b) - (c - d)) / (12 * STEP) for a, b, c, d in values]

    def tangent(self, function):
        return jax.jit(lambda x, t: jax.jvp(function, (x,), (t,))[1])(self.at, self.direction)


def dot(xs, ys):
    return sum(jnp.vdot(x, y) for x, y in zip(xs, ys, strict=True))


def near(found, expected):
    """Compare by the largest element: differences know no digits of one that is near 0."""
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6 * float(jnp.abs(wanted).max()))


def cases(kernels):
    marks = [[] if str(x) in QUICK else [pytest.mark.slow] for x in kernels]
    return pytest.mark.parametrize(
        "differentiable", [pytest.param(x, marks=m, id=str(x)) for x, m in zip(kernels, marks, strict=True)]
    )


@cases(ALL)
def test_first(differentiable):
    case = OfFloats(differentiable)
    forward, backward = case.tangent(case.kernel), case.gradient(case.kernel)(case.at)
    near(forward, case.differences(jax.jit(case.kernel)))
    np.testing.assert_allclose(dot(backward, case.direction), dot(case.covector, forward), rtol=1e-9)
    near(backward, case.gradient(case.twin)(case.at))


@cases([x for x in ALL if str(x) in TWICE])
def test_second(differentiable):
    case = OfFloats(differentiable)
    gradient = case.gradient(case.kernel)
    near(case.tangent(gradient), case.differences(gradient))
