"""A kernel's value comes from the call that computes its derivative, where a program has both."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import differentiable, needs_enzyme, normal, struct

pytestmark = needs_enzyme
X, W = normal(2, 5)
DX, DW = normal(2, 5, seed=1)
XS = normal(3, 5, seed=2)


@numba.njit
def energy(x, w, y):
    total = 0.0
    for i in range(x.size):
        total += np.sin(x[i]) * w[i] * w[0]
    y[()] = total


@numba.njit
def waves(x, w, y):
    for i in range(x.size):
        y[i] = np.sin(x[i]) * w[i]


ENERGY = differentiable(energy, lambda *_: struct())
WAVES = differentiable(waves, lambda x, _: x)


def twin(x, w):
    return (jnp.sin(x) * w * w[0]).sum()


def squared(f):
    return lambda x, w: f(x, w) ** 2


def both(f):
    return jax.value_and_grad(squared(f), (0, 1))


def folded(f):
    return lambda xs, w: jax.lax.scan(lambda c, x: (c * f(x, w), c), 1.0, xs)[0]


def batched(f):
    return lambda xs, w: (jax.vmap(f, (0, None))(xs, w) ** 2).sum()


def directional(f):
    return lambda x, w: jax.jvp(f, (x, w), (DX, DW))


PROGRAMS = {
    "jvp": lambda f: jax.jit(directional(squared(f)))(X, W),
    "gradient": lambda f: both(f)(X, W),
    "gradient under jit": lambda f: jax.jit(both(f))(X, W),
    "gradient of grad": lambda f: jax.grad(lambda x: (both(f)(x, W)[1][0] ** 3).sum())(X),
    "jvp of value and gradient": lambda f: jax.jvp(lambda x: both(f)(x, W), (X,), (DX,)),
    "linearize": lambda f: jax.linearize(f, X, W)[1](DX, DW),
    "hessian": lambda f: jax.hessian(squared(f), (0, 1))(X, W),
    "jacrev of several": lambda f: jax.jacrev(lambda x: jnp.stack([f(x, W), f(x, x)]))(X),
    "vmap of gradient": lambda f: jax.vmap(both(f), (0, None))(XS, W),
    "gradient of vmap": lambda f: jax.grad(batched(f), (0, 1))(XS, W),
    "gradient of scan": lambda f: jax.grad(folded(f), (0, 1))(XS, W),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(squared(f)), (0, 1))(X, W),
}
QUICK = {"gradient under jit", "vmap of gradient"}


@pytest.mark.parametrize(
    "program", [pytest.param(x, marks=[pytest.mark.slow] * (x not in QUICK)) for x in PROGRAMS]
)
def test_a_kernel_of_one_number(program):
    found, expected = PROGRAMS[program](ENERGY), PROGRAMS[program](twin)
    for got, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-13)


def calls_in(program, *args):
    return jax.jit(program).lower(*args).as_text().count("custom_call @")


def test_one_call_computes_value_and_derivative():
    assert calls_in(ENERGY, X, W) == calls_in(both(ENERGY), X, W) == 1
    assert calls_in(directional(ENERGY), X, W) == calls_in(directional(WAVES), X, W) == 1


@pytest.mark.slow
def test_calls_that_are_not_shared():
    """Another direction is another call; so is the value of other inputs, or in another part of a program."""

    def other_inputs(x, w):
        return WAVES(w, x), directional(WAVES)(x, w)

    def in_a_branch(x, w):
        moved = jax.lax.cond(x[0] > 0, lambda: directional(WAVES)(x, w)[1], lambda: x)
        return WAVES(x, w), moved

    def two_directions(x, w):
        return directional(WAVES)(x, w), jax.jvp(lambda x: WAVES(x, w), (x,), (x,))

    assert calls_in(other_inputs, X, W) == 2
    assert calls_in(in_a_branch, X, W) == 2
    assert calls_in(two_directions, X, W) == 2
    sine, cosine = np.sin(X), np.cos(X)
    (value, moved), (again, other) = jax.jit(two_directions)(X, W)
    for got, wanted in (
        (value, sine * W),
        (moved, cosine * W * DX + sine * DW),
        (again, sine * W),
        (other, cosine * W * X),
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(in_a_branch)(-np.abs(X), W)[1], -np.abs(X))


@numba.njit
def weighted(x, scale, y):
    y[()] = x[0] * scale[0] + x[1] * scale[1]


def test_an_infinite_gradient_without_weight_adds_nothing():
    f = differentiable(weighted, lambda *_: struct())
    scale = jnp.array([np.inf, 0.5])
    gradient = jax.jit(jax.grad(lambda x, on: jnp.where(on, f(x, scale), x[1]).sum()))
    assert gradient(jnp.ones(2), False).tolist() == [0.0, 1.0]
    assert gradient(jnp.ones(2), True).tolist() == [np.inf, 0.5]


@numba.njit
def root(x, y):
    for i in range(x.size):
        y[i] = np.sqrt(x[i])


def test_the_slope_of_a_root():
    slope = jax.vmap(jax.grad(lambda x: differentiable(root, lambda x: x)(x[None])[0]))
    found = slope(jnp.array([4.0, 0.0, np.nan]))
    np.testing.assert_array_equal(found, [0.25, 0.0, np.nan])
