"""Kernels in a process with NUMBA_DISABLE_JIT=1; prints what came of each, as JSON."""

import json

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge import numba_function, numba_kernel

X = jnp.arange(3.0)
THREE = jax.ShapeDtypeStruct((3,), jnp.float32)
seen, notes = [], []


@numba.njit
def twice(value):
    return 2 * value


@numba.njit(parallel=True)
def doubled(x, y, total):
    seen.append(type(x).__name__)  # what no compiled kernel could do
    total[()] = 0
    for i in numba.prange(x.size):
        y[i] = twice(x[i])
        total[()] += y[i]


@numba.njit
def plus(x, s, y):
    for i in range(x.size):
        y[i] = x[i] + s[()]


@numba.njit
def moved(x, y):
    assert np.shares_memory(x, y)
    y += 1


@numba.njit
def writes_input(x, y):
    x[0] = 1


@numba.njit
def copies(x, y):
    y[:] = x


@numba.njit
def raises(x, y):
    if x[0] < 0:
        raise ValueError("x must not be negative", int(x[0]))
    y[:] = x


@numba.njit
def scaled(x, a, n, y, shift=1):
    assert isinstance(a, np.float32)
    y[:] = a * x * n + shift


@numba.njit
def ordered(x, turn=True):
    return np.sort(x)[::-1] if turn else np.sort(x), x.size


@numba.njit
def noted(x, y):
    notes.append(float(x[0]))
    y[:] = x


def text_of(call):
    try:
        jax.block_until_ready(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


def numbers(tree):
    return [np.asarray(x).tolist() for x in jax.tree.leaves(tree)]


both = numba_kernel(doubled, [THREE, jax.ShapeDtypeStruct((), jnp.float32)])
add, fails = numba_kernel(plus, THREE), numba_kernel(raises, THREE)
batches = jnp.arange(6.0).reshape(2, 3), jnp.arange(4.0)
in_place = numba_kernel(moved, THREE, input_output_aliases={0: 0})
options = {"static_argnames": ("n", "shift"), "scalar_argnames": "a"}
sort = numba_function(ordered, lambda x: (x, jax.ShapeDtypeStruct((), jnp.int32)))
empty = jax.ShapeDtypeStruct((0,), jnp.float32)
in_order = numba_kernel(noted, THREE, ordered=True)
jax.block_until_ready(jax.jit(lambda x: [in_order(x + i) for i in range(4)])(X))
found = {
    "ordered": notes[:],
    "eager": numbers(both(X)),
    "jit": numbers(jax.jit(both)(X)),
    "scan": numbers(jax.lax.scan(lambda c, _: (both(c)[0], None), X, None, length=3)[0]),
    "nested vmap": numbers(jax.jit(jax.vmap(jax.vmap(add, (0, None)), (None, 0)))(*batches)),
    "sequential": numbers(
        jax.vmap(numba_kernel(plus, THREE, vmap_method="sequential"), (0, None))(batches[0], 1.0)
    ),
    "in place": numbers(jax.jit(lambda x: in_place(x + 1))(X)),
    "nothing": numbers(numba_kernel(copies, empty)(jnp.zeros(0))),
    "options": numbers(numba_kernel(scaled, lambda x, *_, **__: x, **options)(X, 2.0, n=3)),
    "returned": numbers(jax.vmap(sort)(batches[0])),
    "other size": text_of(lambda: numba_function(ordered, (THREE, THREE))(X)),
    "writes input": text_of(lambda: numba_kernel(writes_input, THREE)(X)),
    "raises": text_of(lambda: fails(X - 1)),
    "goes on": numbers(fails(X)),
    "float8": text_of(lambda: fails(X.astype(jnp.float8_e4m3fn))),
    "number of inputs": text_of(lambda: fails(X, X)),
    "no function": text_of(lambda: numba_kernel(3, THREE)),
    "seen": seen[:1],
}
print(json.dumps(found))
