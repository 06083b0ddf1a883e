"""Kernels that raise where x is negative, and the programs around them."""

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge import numba_kernel

N: Final = 3
THREADED: Final = 10_000  # as many elements as parallel regions share between threads


class OwnError(Exception):
    """An exception of the user's own."""


@numba.njit
def raises_text(x, out):
    if x[0] < 0:
        raise ValueError("x must not be negative")
    out[...] = x


@numba.njit
def raises_value(x, out):
    if x[0] < 0:
        raise ValueError("bad value", x[0])
    out[...] = x


@numba.njit
def raises_own(x, out):
    if x[0] < 0:
        raise OwnError("an error of one's own")
    out[...] = x


@numba.njit
def raises_nothing_to_say(x, out):
    if x[0] < 0:
        raise RuntimeError
    out[...] = x


@numba.njit
def divides(x, out):
    out[...] = 1 // (1 + int(x[0]))


@numba.njit(boundscheck=True)
def indexes(x, out):
    out[...] = x[-10 * int(x[0])]


@numba.njit
def asserts(x, out):
    assert x[0] >= 0, "asserted"
    out[...] = x


@numba.njit
def checked(value):
    if value < 0:
        raise ValueError("in a callee", value)
    return value


@numba.njit(parallel=True)
def raises_in_prange(x, out):
    for i in numba.prange(out.size):
        out[i] = checked(x[i % 3])


@numba.njit(parallel=True)
def raises_before_prange(x, out):
    checked(x[0])
    for i in numba.prange(out.size):
        out[i] = x[i % 3]


# The text that arrives: the kernel's name, the exception's type, its message.
TEXTS: Final[dict[Any, str]] = {
    raises_text: "kernel 'raises_text' raised ValueError: x must not be negative",
    raises_value: r"kernel 'raises_value' raised ValueError: \('bad value', -1.0\)",
    raises_own: r"kernel 'raises_own' raised [\w.]*OwnError: an error of one's own",
    raises_nothing_to_say: "kernel 'raises_nothing_to_say' raised RuntimeError: ",
    divides: "kernel 'divides' raised ZeroDivisionError: ",
    indexes: "kernel 'indexes' raised IndexError: index is out of bounds",
    asserts: "kernel 'asserts' raised AssertionError: asserted",
    raises_in_prange: r"kernel 'raises_in_prange' raised ValueError: \('in a callee', -1.0\)",
    raises_before_prange: r"kernel 'raises_before_prange' raised ValueError: \('in a callee', -1.0\)",
}


def function_of(kernel: Any) -> Callable[[Any], Any]:
    """The kernel, of 3 elements to 3; a parallel one computes many, of which 3 are taken."""
    parallel = kernel in (raises_in_prange, raises_before_prange)
    call = numba_kernel(kernel, jax.ShapeDtypeStruct((THREADED if parallel else N,), jnp.float32))
    return (lambda x: call(x)[:N]) if parallel else call


def _scan(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]


def _while(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]


WAYS: Final[dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]]] = {
    "eager": lambda f: f,
    "jit": lambda f: jax.jit(lambda x: f(x) * 2),
    "jit in jit": lambda f: jax.jit(lambda x: jax.jit(f)(x) + jax.jit(f)(x)),
    "scan": lambda f: jax.jit(_scan(f)),
    "while": lambda f: jax.jit(_while(f)),
    "cond": lambda f: jax.jit(lambda x: jax.lax.cond(x[0] < 9, f, lambda y: y, x)),
    "vmap": lambda f: jax.jit(lambda x: jax.vmap(f)(jnp.stack([abs(x), x]))),
    "vmap in scan": lambda f: jax.jit(_scan(lambda x: jax.vmap(f)(jnp.stack([x, x]))[0])),
    "checkpoint": lambda f: jax.jit(jax.checkpoint(f)),
}
BAD: Final = np.full(N, -1, "f")
GOOD: Final = np.zeros(N, "f")
