"""Kernels with side effects run although nobody reads their results, as often as they are called."""

import ctypes

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from jax.experimental import io_callback

from ffi_bridge import XLACustomKernel, numba_function, numba_kernel
from ffi_bridge.errors import KernelDefinitionError

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
    "vmap of scan": (
        lambda f, x: jax.vmap(lambda a: jax.lax.scan(lambda c, _: (c, f(c)), a, length=2)[0])(x),
        jnp.arange(3, dtype="int32"),
        6,
    ),
    "not mapped": (lambda f, x: jax.vmap(lambda a: (a, f(X))[0])(x), jnp.arange(3, dtype="int32"), 1),
    "switch": (lambda f, x: jax.lax.switch(x, [lambda: x, lambda: f(x), lambda: f(f(x))]), X + 2, 2),
    "fori": (lambda f, x: jax.lax.fori_loop(0, x, lambda _, c: f(c), X), X + 4, 4),
    "condition of while": (
        lambda f, x: jax.lax.while_loop(lambda c: (f(c) >= 0) & (c < 3), lambda c: c + 1, x),
        X,
        4,
    ),
    "inner jit": (lambda f, x: jax.jit(lambda y: (y, f(y)))(x)[0], X, 1),
    "map": (
        lambda f, x: jax.lax.map(lambda i: jax.lax.fori_loop(0, i, lambda _, c: f(c), X), x),
        jnp.array([1, 3]),
        4,
    ),
    "gradient": (lambda f, w: jax.grad(lambda w: jnp.sin(w) * (f(X), 1.0)[1])(w), 1.0, 1),
    "second derivative": (lambda f, w: jax.hessian(lambda w: jnp.sin(w) * (f(X), 1.0)[1])(w), 1.0, 1),
    "gradient of scan": (
        lambda f, w: jax.grad(
            lambda w: jax.lax.scan(lambda c, i: (jnp.sin(c), f(i)), w, jnp.arange(3, dtype="int32"))[0]
        )(w),
        1.0,
        3,
    ),
    "gradient of cond": (
        lambda f, w: jax.grad(lambda w: jax.lax.cond(w > 0, lambda: (f(X), jnp.sin(w))[1], lambda: w))(w),
        1.0,
        1,
    ),
    "gradient by hand": (lambda f, w: jax.grad(by_hand(f))(w), 1.0, 3),
    "forward": (lambda f, w: jax.jvp(lambda w: (f(X), jnp.sin(w))[1], (w,), (w,)), 1.0, 1),
}


def by_hand(f):
    """A function whose own VJP calls a kernel once forwards, and twice backwards."""
    call = jax.custom_vjp(lambda w: (f(X), w)[1])
    call.defvjp(lambda w: ((f(X), w)[1], ()), lambda _, t: ((f(X), f(X), t)[2],))
    return call


@pytest.mark.parametrize(("program", "x", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_it_runs_as_often_as_it_is_called(program, x, expected):
    assert runs(lambda x: program(kernel(True), x), x) == expected


def test_the_gradient_of_a_loop_moves_out_of_it_what_does_not_change_as_it_does_with_callbacks():
    def program(call):
        return lambda w: jax.grad(lambda w: jax.lax.scan(lambda c, _: (jnp.sin(c), call()), w, length=3)[0])(
            w
        )

    def callback():
        return io_callback(lambda: np.int32(libc.rand() >= 0), X, ordered=False)

    assert runs(program(lambda: kernel(True)(X)), 1.0) == runs(program(callback), 1.0) == 1


def kernels():
    outs = jax.ShapeDtypeStruct((), "int32")
    for method in (None, "sequential", "sequential_unrolled", "broadcast_all", "expand_dims"):
        yield numba_kernel(draw_one, outs, has_side_effect=True, vmap_method=method)
    yield numba_function(drawn, lambda x: x, has_side_effect=True)
    yield kernel(True)


BATCH = jnp.array([0, 2])
DIFFERENT = {
    "cond": lambda f, x: jax.lax.cond(x > 0, lambda: f(x), lambda: x),
    "cond with nothing mapped": lambda f, x: jax.lax.cond(x > 5, lambda: f(X), lambda: x),
    "switch": lambda f, x: jax.lax.switch(x, [lambda: f(x), lambda: x, lambda: x + 1]),
    "fori": lambda f, x: jax.lax.fori_loop(0, x, lambda _, c: f(c), x),
    "while": lambda f, x: jax.lax.while_loop(lambda c: c < 3, lambda c: (f(c), c + 1)[1], x),
    "condition of while": lambda f, x: jax.lax.while_loop(lambda c: f(c) < 3, lambda c: c + 1, x),
    "inner jit": lambda f, x: jax.lax.cond(x > 0, jax.jit(lambda: f(x)), lambda: x),
    "scan in cond": lambda f, x: jax.lax.cond(
        x > 0, lambda: jax.lax.scan(lambda c, _: (f(c), None), x, length=2)[0], lambda: x
    ),
    "cond in scan": lambda f, x: jax.lax.scan(
        lambda c, _: (jax.lax.cond(c > 0, lambda: f(c), lambda: c), None), x, length=2
    )[0],
}


@pytest.mark.parametrize("program", DIFFERENT.values(), ids=DIFFERENT)
def test_conditions_that_differ_within_a_batch_are_refused(program):
    # `jax.vmap` runs what any element of the batch needs for all of them: 6 for 4, 1 for none.
    for f in kernels():
        with pytest.raises(Exception, match=r"IO effects? not supported in (vmap-of-cond|while_loop)"):
            jax.vmap(lambda x, f=f: program(f, x))(BATCH)
    assert jax.vmap(lambda x: program(kernel(False), x))(BATCH).shape == (2,)


def test_an_operator_calls_no_kernel_with_side_effects():
    operator = XLACustomKernel("calls_a_kernel_with_side_effects")
    f = kernel(True)
    operator.def_kernel("numba", "cpu", lambda outs: f)
    refused = (
        r"'calls_a_kernel_with_side_effects': its backend 'numba' calls kernel 'draw_one', which has side"
    )
    call = jax.jit(lambda x: (f(x), operator(x, outs=jax.ShapeDtypeStruct((), "int32"))))
    for of_call in (call, lambda x: operator(x, outs=jax.ShapeDtypeStruct((), "int32"))):
        with pytest.raises(KernelDefinitionError, match=refused):
            of_call(X)


def test_without_effects_what_nobody_reads_does_not_run_and_equal_calls_are_one():
    assert runs(lambda x: (kernel(False)(x), x)[1], X) == 0
    f = kernel(False)
    assert runs(lambda x: (f(x), f(x)), X) == 1


def test_functions_that_return_have_effects_too():
    f = numba_function(drawn, lambda x: x, has_side_effect=True)
    assert runs(lambda x: (f(x), x)[1], X) == 1
