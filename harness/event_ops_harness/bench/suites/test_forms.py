"""Time the forms that a Numba kernel may have beside the plain one, and a universal function beside NumPy.

A step of `lax.fori_loop` that adds 8 floats: a kernel with `outs` as they are, with a function of shapes, and
with a constant and a number; universal functions; a function that returns its array, which is copied. Then a
large array that is returned, and a universal function over a batch of 1000, both called from Python.
"""

import functools

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from event_ops_harness.bench.steps import fed_back
from ffi_bridge import numba_function, numba_kernel

OUT = jax.ShapeDtypeStruct((8,), jnp.float32)
PLAIN = "numba_kernel"
FLOATS, BATCH, WIDTH = 1_000_000, 1000, 100


@numba.njit
def add(x, y, out):
    for i in range(out.size):
        out[i] = x[i] + y[i]


@numba.njit
def add_scaled(x, y, scale, out, sign=1):
    for i in range(out.size):
        out[i] = x[i] + sign * scale * y[i]


@numba.vectorize(["float32(float32, float32)"])
def add_each(x, y):
    return x + y


@numba.guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->(n)")
def add_rows(x, y, out):
    for i in range(x.size):
        out[i] = x[i] + y[i]


@numba.njit
def added(x, y):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = x[i] + y[i]
    return out


@numba.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
def running_mean(x, out):
    total = np.float32(0)
    for i in range(x.size):
        total += x[i]
        out[i] = total / (i + 1)


def like(x, *_, **__):
    return x


scaled = numba_kernel(add_scaled, like, static_argnames="sign", scalar_argnames="scale")
FORMS = {
    "shapes that follow": numba_kernel(add, like),
    PLAIN: numba_kernel(add, OUT),
    "constant and number": lambda x, y: scaled(x, y, jnp.float32(1), sign=1),
    "vectorize": numba_function(add_each),
    "guvectorize": numba_function(add_rows),
    "array returned": numba_function(added, like),
}
RETURNED = {"numba_function": numba_function(added, like), PLAIN: numba_kernel(add, like)}
COPIED = "Numba, and a copy"
BATCHED = ("vmap", "NumPy")


@functools.cache
def steps():
    x = jnp.arange(8, dtype=jnp.float32)
    return {name: fed_back(operation, x) for name, operation in FORMS.items()}


@functools.cache
def returned():
    host = np.random.default_rng(0).random(FLOATS, np.float32)
    x = jnp.asarray(host)
    calls = {name: functools.partial(operation, x, x) for name, operation in RETURNED.items()}
    return calls | {COPIED: lambda: added(host, host).copy()}


@functools.cache
def batched():
    host = np.random.default_rng(0).random((BATCH, WIDTH), np.float32)
    call = functools.partial(jax.jit(jax.vmap(numba_function(running_mean))), jnp.asarray(host))
    return dict(zip(BATCHED, (call, lambda: running_mean(host)), strict=True))  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("member", FORMS)
def test_steps(in_turns, benchmark, member):
    benchmark.group = "step in fori_loop, 8 floats"
    in_turns(steps(), member, rivals={PLAIN})


@pytest.mark.parametrize("member", [*RETURNED, COPIED])
def test_returned(in_turns, benchmark, member):
    benchmark.group = f"{FLOATS} floats returned"
    in_turns(returned(), member, rivals={COPIED})


@pytest.mark.parametrize("member", BATCHED)
def test_batched(in_turns, benchmark, member):
    benchmark.group = f"guvectorize over {BATCH} x {WIDTH} floats"
    in_turns(batched(), member)
