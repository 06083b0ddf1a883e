"""Derivatives of a kernel under JAX's transformations, against those of the same function in JAX."""

import importlib.util

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import differentiable, needs_enzyme, normal

import ffi_bridge
from ffi_bridge import XLACustomKernel

pytestmark = needs_enzyme
W, V = normal(3, 3), normal(3, seed=1)
WS, VS = normal(4, 3, 3, seed=2), normal(4, 3, seed=3)


@numba.njit
def layer(w, v, y):
    for i in range(y.size):
        total = 0.0
        for j in range(v.size):
            total += w[i, j] * v[j]
        y[i] = np.tanh(total)


KERNEL = differentiable(layer, lambda w, v: v)


def twin(w, v):
    return jnp.tanh(w @ v)


def loss(f):
    return lambda w, v: (f(w, v) ** 2).sum()


def gradient(f):
    return jax.grad(loss(f), (0, 1))


def scanned(f):
    return lambda w, v: jax.lax.scan(lambda v, _: (f(w, v), v[0]), v, None, length=3)[1].sum()


def in_a_while(f):
    def run(w, v):
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(w, c[1])), (0, v))[1]

    return run


def in_a_fori(f):
    return lambda w, v: jax.lax.fori_loop(0, 3, lambda _, v: f(w, v), v)


def branched(f):
    return lambda w, v: jax.lax.cond(v[0] > 0, lambda: f(w, v), lambda: 2 * f(w.T, v)).sum()


TRANSFORMS = {
    "jvp": lambda f: jax.jvp(f, (W, V), (W + 1, V + 1)),
    "jvp of one input": lambda f: jax.jvp(lambda v: f(W, v), (V,), (V + 1,)),
    "vjp": lambda f: jax.vjp(f, W, V)[1](V + 1),
    "linearize": lambda f: jax.linearize(f, W, V)[1](W + 1, V + 1),
    "jit": lambda f: jax.jit(gradient(f))(W, V),
    "jacfwd": lambda f: jax.jacfwd(f, (0, 1))(W, V),
    "jacrev": lambda f: jax.jacrev(f, (0, 1))(W, V),
    "hessian": lambda f: jax.hessian(loss(f), (0, 1))(W, V),
    "grad of grad": lambda f: jax.grad(lambda v: (gradient(f)(W, v)[0] ** 3).sum())(V),
    "checkpoint": lambda f: gradient(jax.checkpoint(f))(W, V),
    "grad of scan": lambda f: jax.grad(scanned(f), (0, 1))(W, V),
    "checkpoint in scan": lambda f: jax.grad(scanned(jax.checkpoint(f)), (0, 1))(W, V),
    "jvp of while": lambda f: jax.jvp(in_a_while(f), (W, V), (W, V)),
    "grad of fori": lambda f: gradient(in_a_fori(f))(W, V),
    "grad of cond": lambda f: [jax.grad(branched(f), (0, 1))(W, v) for v in (V, -V)],
    "vmap of cond": lambda f: jax.vmap(jax.grad(branched(f)), (None, 0))(W, VS),
    "vmap of grad of scan": lambda f: jax.vmap(jax.grad(scanned(f), (0, 1)), (None, 0))(W, VS),
    "vmap of jacfwd": lambda f: jax.vmap(jax.jacfwd(f, 1), (None, 0))(W, VS),
    "vmap of hessian": lambda f: jax.vmap(jax.hessian(loss(f), 1), (0, None))(WS, V),
    "jvp of vmap": lambda f: jax.jvp(jax.vmap(f, (None, 0)), (W, VS), (W + 1, VS + 1)),
    "other axes": lambda f: jax.vmap(gradient(f), (2, 1), (0, 1))(jnp.moveaxis(WS, 0, 2), VS.T),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transform(transform):
    same(TRANSFORMS[transform](KERNEL), TRANSFORMS[transform](twin))


def same(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for got, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-14)


def one_by_one(f, axes, *args):
    """Return what `vmap` gives by a call for each element."""

    def element(i):
        return [x if axis is None else x[i] for x, axis in zip(args, axes, strict=True)]

    results = [f(*element(i)) for i in range(4)]
    return jax.tree.map(lambda *parts: jnp.stack(parts), *results)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None)], ids=str)
def test_batches(axes):
    args = [x if axis is None else xs for x, xs, axis in zip((W, V), (WS, VS), axes, strict=True)]
    each = one_by_one(gradient(KERNEL), axes, *args)
    same(jax.vmap(gradient(KERNEL), axes)(*args), each)
    whole = gradient(jax.vmap(KERNEL, axes))(*args)
    # What is not mapped is an input of every element: its gradient is the sum.
    summed = tuple(x.sum(0) if axis is None else x for x, axis in zip(each, axes, strict=True))
    same(whole, summed)


def test_nested_batches():
    def nested(f):
        return jax.vmap(jax.vmap(f, (None, 0)), (0, None))

    each = one_by_one(lambda w: one_by_one(gradient(KERNEL), (None, 0), w, VS), (0,), WS)
    same(nested(gradient(KERNEL))(WS, VS), each)
    same(gradient(nested(KERNEL))(WS, VS), (each[0].sum(1), each[1].sum(0)))
    inner = jax.vmap(gradient(jax.vmap(KERNEL, (None, 0))), (0, None))(WS, VS)
    same(inner, (each[0].sum(1), each[1]))


def test_symmetric_and_the_same_again():
    hessian = jax.jit(jax.hessian(lambda v: loss(KERNEL)(W, v)))
    first = hessian(V)
    np.testing.assert_allclose(first, first.T, rtol=1e-12)
    hessian(V + 1)
    np.testing.assert_array_equal(hessian(V), first)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
@pytest.mark.slow
def test_a_kernel_that_takes_batches(method):
    f = differentiable(sine, lambda x: x, vmap_method=method)
    wanted = jnp.cos(VS)
    same(jax.vmap(jax.grad(lambda x: f(x).sum()))(VS), wanted)
    same(jax.grad(lambda x: jax.vmap(f)(x).sum())(VS), wanted)
    same(jax.vmap(jax.jacfwd(f))(VS), jax.vmap(jnp.diag)(wanted))
    same(jax.vmap(jax.jacrev(f))(VS), jax.vmap(jnp.diag)(wanted))


@numba.njit
def sine(x, y):
    for i in np.ndindex(x.shape):
        y[i] = np.sin(x[i])


def test_of_an_operator_without_rule_or_reference():
    operator = XLACustomKernel("derivatives_of_a_backend")
    operator.def_numba_kernel(lambda *, outs: differentiable(layer, outs))

    def call(w, v):
        return operator(w, v, outs=jax.ShapeDtypeStruct(v.shape, v.dtype))

    for name in ("vjp", "jit", "hessian", "grad of scan", "vmap of jacfwd", "vmap of hessian", "jvp of vmap"):
        same(TRANSFORMS[name](call), TRANSFORMS[name](twin))


@numba.njit
def squares_or_zeros(x, which, y):
    chosen = x if which[()] > 0 else np.zeros_like(x)
    for i in range(x.size):
        y[i] = chosen[i] * chosen[i]


@numba.njit
def leaky_sum(x, decay, y):
    total = 0.0
    for i in range(x.size):
        total = decay[()] * total + x[i]
        y[i] = total


def test_a_direction_in_the_same_memory_as_the_input():
    f = differentiable(squares_or_zeros, lambda x, which: x)
    np.testing.assert_allclose(jax.jvp(lambda x: f(x, 1.0), (V,), (V,))[1], 2 * V**2)
    f, x, decay = differentiable(leaky_sum, lambda x, decay: x), jnp.asarray(V), jnp.float64(0.9)

    def second(*directions):
        return jax.vjp(lambda *at: jax.jvp(f, at[:2], at[2:])[1], x, decay, *directions)[1](jnp.ones(3))

    same(second(x, decay), second(x.copy(), decay.copy()))


@numba.njit
def convolved(x, w, y):
    for i in range(y.size):
        y[i] = 0.0
        for j in range(i + 1):
            y[i] += x[j] * w[i - j]


@pytest.mark.slow
def test_one_array_as_two_inputs_and_as_two_directions():
    """Let inputs share memory, of which LLVM is not told that they are apart, unlike what is written."""
    f, x, t = differentiable(convolved, lambda x, w: x), jnp.asarray(V), jnp.asarray(V[::-1].copy())

    def of_both(f):
        return jax.jvp(f, (x, x), (t, t)), jax.vjp(f, x, x)[1](x), jax.grad(lambda x: f(x, x).sum())(x)

    same(of_both(f), of_both(lambda x, w: jnp.convolve(x, w)[: x.size]))


def test_donated_buffers():
    step = jax.jit(lambda w, v: (w - gradient(KERNEL)(w, v)[0], v), donate_argnums=0)
    wanted = W
    found = jnp.asarray(W)
    for _ in range(3):
        wanted = wanted - gradient(twin)(wanted, V)[0]
        found, _ = step(found, V)
    same(found, wanted)


@pytest.mark.skipif(importlib.util.find_spec("flatbuffers") is None, reason="jax.export needs flatbuffers")
def test_an_exported_gradient():
    exported = ffi_bridge.export.export(jax.jit(gradient(KERNEL)))(W, V)
    again = ffi_bridge.export.deserialize(exported.serialize())
    same(again.call(W, V), gradient(twin)(W, V))


def test_training_reduces_the_loss():
    target = twin(WS[0], V)
    step = jax.jit(jax.value_and_grad(lambda w: ((KERNEL(w, V) - target) ** 2).sum()))
    w, losses = W, []
    for _ in range(50):
        value, slope = step(w)
        w, losses = w - 0.3 * slope, [*losses, value]
    assert losses[-1] < 1e-3 * losses[0]
