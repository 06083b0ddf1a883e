"""Ordered kernels run one after the other, in the order of the program, wherever their calls stand."""

import functools
import threading

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from jax.experimental import io_callback
from written import FD, put, put_and_add, write, written

from ffi_bridge import XLACustomKernel, debug, numba_function, numba_kernel
from ffi_bridge.errors import KernelDefinitionError

X = jnp.ones(3)
COUNT = jnp.arange(4)


@functools.cache
def kernel(**options):
    outs = lambda number, x: x  # noqa: E731
    return numba_kernel(put, outs, scalar_argnames="number", **{"ordered": True} | options)


f, function = kernel(), numba_function(put_and_add, lambda number, x: x, ordered=True)


def each_alone(x):
    """Calls that wait for nothing but their turn; on few and small buffers XLA makes one after the other."""
    return [f(i, jnp.sin(x + i)) for i in range(12)]


def branches(x):
    f(1, x)
    jax.lax.cond(x[0] > 0, lambda: f(2, x), lambda: f(3, x))
    jax.lax.switch(1, [lambda: f(4, x), lambda: f(6, x)])
    f(5, x)


def two_kernels(x):
    function(0, x)
    f(2, x)
    function(4, x)
    f(1, x)


def callback(number):
    put.py_func(number, X, np.ones(3))


def with_callbacks(x):
    f(2, x)
    io_callback(callback, None, 200, ordered=True)
    f(4, x)
    io_callback(callback, None, 201, ordered=True)


def beside_derivatives(x):
    def loss(w):
        f(2, x)
        y = jax.lax.scan(lambda c, i: (jnp.sin(c), f(i, x)), w, COUNT)[0]
        f(5, jax.lax.stop_gradient(w))
        return y.sum()

    return jax.grad(loss)(x)


PROGRAMS = {
    "alone": (each_alone, jnp.ones(100_000), list(range(12))),
    "scan": (lambda x: jax.lax.scan(lambda c, i: (f(i, c), None), x, COUNT)[0], X, [0, 1, 2, 3]),
    "unused": (lambda x: jax.lax.scan(lambda c, i: (c, f(i, c)), x, COUNT)[0], X, [0, 1, 2, 3]),
    "fori": (lambda x: jax.lax.fori_loop(0, 3, lambda i, c: f(i, c), x), X, [0, 1, 2]),
    "while": (
        lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(*c)), (0, x)),
        X,
        [0, 1, 2],
    ),
    "branches": (branches, X, [1, 2, 6, 5]),
    "two kernels": (two_kernels, X, [100, 2, 104, 1]),
    "callbacks": (with_callbacks, X, [2, 200, 4, 201]),
    "derivatives": (beside_derivatives, X, [2, 0, 1, 2, 3, 5]),
    "inner jit": (lambda x: (f(2, x), jax.jit(f)(4, x), f(1, x)), X, [2, 4, 1]),
    "vmap": (lambda x: (jax.vmap(f, (0, None))(COUNT, x), f(9, x)), X, [0, 1, 2, 3, 9]),
    "vmap of scan": (
        lambda x: jax.vmap(lambda b: jax.lax.scan(lambda c, i: (f(b + i, c), None), x, COUNT)[0])(10 * COUNT),
        X,
        [0, 10, 20, 30, 1, 11, 21, 31, 2, 12, 22, 32, 3, 13, 23, 33],
    ),
}


@pytest.mark.slow_cases("vmap of scan-guarded")
@pytest.mark.parametrize("way", ["jit", "eager", "compiled before", "guarded"])
@pytest.mark.parametrize(("program", "x", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_calls_are_in_the_order_of_the_program(program, x, expected, way):
    if way == "eager":
        assert written(program, x) == expected
    elif way == "jit":
        assert written(jax.jit(program), x) == expected
    elif way == "guarded":
        with debug.guarded():
            assert written(jax.jit(lambda x: program(x)), x) == expected
    else:
        compiled = jax.jit(program).lower(x).compile()
        for _ in range(2):
            assert written(compiled, x) == expected


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
def test_under_vmap_elements_of_a_batch_follow_each_other(method):
    g = kernel(vmap_method=method)
    assert written(jax.jit(lambda x: (f(8, x), jax.vmap(g, (0, None))(COUNT, x), f(9, x))), X) == [
        8, 0, 1, 2, 3, 9
    ]  # fmt: skip


def test_results_are_those_of_the_kernel():
    y = jax.jit(lambda x: jax.lax.scan(lambda c, i: (function(i, c), f(i, c)), x, COUNT))(X)
    np.testing.assert_array_equal(y[0], 5)
    np.testing.assert_array_equal(y[1], np.repeat([[1.0], [2], [3], [4]], 3, 1))


def test_programs_of_a_thread_are_in_order():
    one, two = (jax.jit(lambda x, i=i: (f(i, x), f(i + 1, x))) for i in (2, 6))

    def programs():
        return one(jnp.ones(100_000)), two(X), f(8, X), one(X)

    assert written(programs) == [2, 3, 6, 7, 8, 2, 3]


def test_each_of_several_threads_has_its_own_order():
    program = jax.jit(lambda first, x: jax.lax.scan(lambda c, i: (f(first + i, c), None), x, COUNT)[0])

    def in_threads():
        started = [threading.Thread(target=program, args=(10 * i, X)) for i in range(4)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    found = written(in_threads)
    assert len(found) == 16
    for i in range(4):
        assert [x for x in found if x // 10 == i] == [10 * i + k for k in range(4)]


def test_parallel_loops_and_memory_in_place():
    @numba.njit(parallel=True)
    def add_one(number, x, y):
        word = np.array([number], np.int32)
        write(FD, word.ctypes, 4)
        for i in numba.prange(y.size):
            y[i] += 1

    outs = lambda number, x: x  # noqa: E731
    g = numba_kernel(add_one, outs, scalar_argnames="number", input_output_aliases={1: 0}, ordered=True)
    program = jax.jit(lambda x: jax.lax.scan(lambda c, i: (g(i, c), None), x, COUNT)[0], donate_argnums=0)
    assert written(lambda: np.testing.assert_array_equal(program(jnp.zeros(5)), 4)) == [0, 1, 2, 3]
    assert written(jax.vmap(program), jnp.zeros((3, 5))) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_calls_after_one_that_fails_go_on():
    @numba.njit
    def fails(x, y):
        if x[0] > 0:
            raise ValueError("positive")
        y[:] = x

    g = jax.jit(numba_kernel(fails, X, ordered=True))
    with pytest.raises(jax.errors.JaxRuntimeError, match="kernel 'fails' raised ValueError: positive"):
        jax.block_until_ready(g(X))
    assert written(lambda: (f(2, X), g(-X), f(1, X))) == [2, 1]


@pytest.mark.parametrize(
    "program",
    [
        lambda x: jax.vmap(lambda i: jax.lax.cond(i > 1, lambda: f(i, x), lambda: x))(COUNT),
        lambda x: jax.vmap(lambda i: jax.lax.fori_loop(0, i, lambda _, c: f(i, c), x))(COUNT),
    ],
    ids=["cond", "while"],
)
def test_conditions_that_differ_within_a_batch_are_refused(program):
    # `jax.vmap` runs what any element of the batch needs for all of them.
    with pytest.raises(Exception, match=r"IO effects? not supported in vmap"):
        program(X)


def test_an_operator_has_no_place_in_the_order():
    operator = XLACustomKernel("calls_an_ordered_kernel")
    operator.def_kernel("numba", "cpu", lambda outs: lambda x: f(1, x))
    call = jax.jit(lambda x: (f(0, x), operator(x, outs=jax.ShapeDtypeStruct((3,), jnp.float32))))
    with pytest.raises(KernelDefinitionError, match=r"'calls_an_ordered_kernel': its backend 'numba' calls"):
        call(X)


def test_universal_functions_take_no_order():
    with pytest.raises(KernelDefinitionError, match="no side effects"):
        numba_function(numba.vectorize(lambda x: x), ordered=True)
