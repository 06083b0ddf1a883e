"""Kernels with side effects run although nobody reads their results, as often as they are called."""

import ctypes

import jax
import jax.numpy as jnp
import numba
import pytest

from ffi_bridge import numba_function, numba_kernel

libc = ctypes.CDLL(None)
draw = libc.rand
draw.restype, draw.argtypes = ctypes.c_int, []
X = jnp.int32(0)


@numba.njit
def draw_one(x, y):
    y[()] = x[()] + draw()


@numba.njit
def drawn(x):
    return x + draw()


def kernel(has_side_effect):
    return numba_kernel(draw_one, jax.ShapeDtypeStruct((), "int32"), has_side_effect=has_side_effect)


def runs(program, *args):
    """Return how often a program draws a number, by where the sequence of the C library is after it."""
    libc.srand(1)
    sequence = [libc.rand() for _ in range(40)]
    compiled = jax.jit(program).lower(*args).compile()
    libc.srand(1)
    jax.block_until_ready(compiled(*args))
    jax.effects_barrier()
    return sequence.index(libc.rand())


PROGRAMS = {
    "unused": (lambda f, x: (f(x), x)[1], X, 1),
    "twice": (lambda f, x: (f(x), f(x)), X, 2),
    "scan": (lambda f, x: jax.lax.scan(lambda c, _: (c, (f(c), None)[1]), x, length=5)[0], X, 5),
    "cond": (lambda f, x: jax.lax.cond(x == 0, lambda: (f(x), x)[1], lambda: x), X, 1),
    "vmap": (lambda f, x: (jax.vmap(f)(x), x)[1], jnp.arange(3, dtype="int32"), 3),
}


@pytest.mark.parametrize(("program", "x", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_it_runs_as_often_as_it_is_called(program, x, expected):
    assert runs(lambda x: program(kernel(True), x), x) == expected


def test_without_effects_what_nobody_reads_does_not_run_and_equal_calls_are_one():
    assert runs(lambda x: (kernel(False)(x), x)[1], X) == 0
    f = kernel(False)
    assert runs(lambda x: (f(x), f(x)), X) == 1


def test_functions_that_return_have_effects_too():
    f = numba_function(drawn, lambda x: x, has_side_effect=True)
    assert runs(lambda x: (f(x), x)[1], X) == 1
