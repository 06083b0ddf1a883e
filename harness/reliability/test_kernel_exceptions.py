"""What a kernel raises arrives as a JAX error on every path: its name, the exception's type, its message."""

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from child_processes import succeed
from misuse import RUN_ERRORS
from parallel_kernels import in_threads
from raising_kernels import BAD, GOOD, TEXTS, WAYS, function_of, raises_in_prange, raises_value

from ffi_bridge import XLACustomKernel

pytestmark = pytest.mark.promise(5)
SERIAL_AND_PARALLEL = pytest.mark.parametrize(
    "kernel", [raises_value, raises_in_prange], ids=["serial", "parallel"]
)
QUICK_KERNELS, QUICK_WAYS = (raises_value, raises_in_prange), ("eager", "jit", "scan")
MEGABYTE = 2**20


def assert_raises(program: Callable[[Any], Any], kernel: Any) -> None:
    """On bad input, time after time; and good input is served in between."""
    for _ in range(3):
        with pytest.raises(RUN_ERRORS, match=TEXTS[kernel]):
            jax.block_until_ready(program(BAD))
        jax.block_until_ready(program(GOOD))


def with_custom_vjp(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f whose derivative is f of the cotangent: raises backwards where that is negative."""
    differentiable = jax.custom_vjp(lambda x: x * 1)
    differentiable.defvjp(lambda x: (x * 1, None), lambda _, ct: (f(ct),))
    return differentiable


def with_declared_rules(f: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """An operator whose backend is the kernel, and whose tangents and cotangents are its own calls."""
    operator = XLACustomKernel(name)
    like = jax.ShapeDtypeStruct(GOOD.shape, GOOD.dtype)
    operator.def_kernel("raising", "cpu", lambda **_: f)
    operator.def_jvp_rule2(lambda t, x, **params: operator(t, **params))
    operator.def_transpose_rule(lambda ct, x, **params: [operator(ct, **params)])
    return lambda x: operator(x, outs=like)


@pytest.mark.parametrize(
    ("kernel", "way"),
    [
        pytest.param(
            kernel,
            way,
            id=f"{kernel.__name__}-{way}",
            marks=[] if kernel in QUICK_KERNELS or way in QUICK_WAYS else [pytest.mark.slow],
        )
        for kernel in TEXTS
        for way in WAYS
    ],
)
def test_exceptions_of_every_kind_arrive(kernel, way, capfd):
    assert_raises(WAYS[way](function_of(kernel)), kernel)
    assert "Traceback" not in capfd.readouterr().err


@SERIAL_AND_PARALLEL
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_exceptions_arrive_forwards_of_grad(kernel, jitted):
    f = function_of(kernel)
    differentiable = jax.custom_vjp(f)
    differentiable.defvjp(lambda x: (y := f(x), y), lambda y, ct: (ct * y,))
    gradient = jax.grad(lambda x: differentiable(x).sum())
    assert_raises(jax.jit(gradient) if jitted else gradient, kernel)


@SERIAL_AND_PARALLEL
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_exceptions_arrive_backwards_through_custom_vjp(kernel, jitted):
    differentiable = with_custom_vjp(function_of(kernel))
    pull_back = jax.grad(lambda x, ct: (differentiable(x) * ct).sum())

    def program(ct: Any) -> Any:
        return pull_back(GOOD, ct)

    assert_raises(jax.jit(program) if jitted else program, kernel)


@SERIAL_AND_PARALLEL
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_exceptions_arrive_backwards_through_declared_rules(kernel, jitted, request):
    operator = with_declared_rules(function_of(kernel), request.node.name)
    programs = [
        lambda ct: jax.grad(lambda x: (operator(x) * ct).sum())(GOOD),
        lambda t: jax.jvp(operator, (GOOD,), (t,))[1],
        operator,
    ]
    for program in programs:
        assert_raises(jax.jit(program) if jitted else program, kernel)


@SERIAL_AND_PARALLEL
def test_exceptions_arrive_in_the_thread_that_called(kernel, record_property):
    """8 threads, of which half give bad input: no exception is lost, and what is served is right.

    A parallel region's exception is, as documented, that of every call of the kernel that is under way.
    """
    shared = kernel is raises_in_prange
    program = jax.jit(function_of(kernel))
    calls, wrong = 50, []

    def work(thread: int) -> None:
        bad = thread % 2 == 0
        for _ in range(calls):
            try:
                y = np.asarray(program(BAD if bad else GOOD))
            except RUN_ERRORS as error:
                if not (bad or shared) or not re.search(TEXTS[kernel], str(error)):
                    wrong.append(f"thread {thread}: {error}")
            else:
                if bad or (y != GOOD).any():
                    wrong.append(f"thread {thread}: {y}")

    in_threads(8, work)
    record_property("tried", 8 * calls)
    assert wrong == []
    np.testing.assert_array_equal(program(GOOD), GOOD)


@pytest.mark.parametrize(
    ("kernel", "way"),
    [
        (raises_value, "jit"),
        pytest.param(raises_in_prange, "eager", marks=pytest.mark.slow),
        pytest.param(raises_value, "eager", marks=pytest.mark.slow),
        pytest.param(raises_in_prange, "jit", marks=pytest.mark.slow),
    ],
    ids=["serial-jit", "parallel-eager", "serial-eager", "parallel-jit"],
)
@pytest.mark.parametrize(
    "calls", [1000, pytest.param(20_000, marks=pytest.mark.slow)], ids=["1000 calls", "20000 calls"]
)
def test_failing_calls_leave_nothing_behind(kernel, way, calls, record_property):
    """An output is 1 MB and a text 10 kB: leaving either behind would show.

    Numba itself leaves the arguments of an exception behind if one of them is known at run time only.
    """
    name = "raises_in_prange" if kernel is raises_in_prange else "raises"
    grown = int(succeed("failing_in_child.py", name, way, str(calls), limit=900, NUMBA_NUM_THREADS="2"))
    record_property("tried", calls)
    assert grown < 4 * MEGABYTE, f"{calls} failing calls left {grown} bytes"
