"""A kernel computes with what its callees read when it is wrapped, whenever they were compiled before."""

import gc

import child_python
import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from llvmlite.binding.newpassmanagers import FunctionPassManager, ModulePassManager, NewPassManager
from numba.core import ir
from numba.extending import overload

from ffi_bridge import numba_kernel

pytestmark = [pytest.mark.promise(6), pytest.mark.usefixtures("nothing_kept")]

GAIN = 1.0


@numba.njit
def gain():
    return GAIN


@numba.njit
def amplified(v):
    return v * gain()


@numba.njit("float32(float32)")
def declared(v):
    return v * np.float32(GAIN)


def chosen(v):
    raise NotImplementedError


@overload(chosen)
def _chosen(v):
    if GAIN < 10:
        return lambda v: v * GAIN
    return lambda v: -v * GAIN


@numba.njit
def countdown(x, n):
    if n > 0:
        x[0] += GAIN
        countdown(x, n - 1)


@numba.njit
def left(x, n):
    if n > 0:
        x[0] += GAIN
        right(x, n - 1)


@numba.njit
def right(x, n):
    if n > 0:
        x[0] += GAIN
        left(x, n - 1)


@numba.njit
def of_a_callee(x, y):
    for i in range(x.size):
        y[i] = amplified(x[i])


@numba.njit
def of_a_declared_callee(x, y):
    for i in range(x.size):
        y[i] = declared(x[i])


@numba.njit
def of_an_overload(x, y):
    for i in range(x.size):
        y[i] = chosen(x[i])


@numba.njit
def of_recursion(x, y):
    y[:] = 0
    countdown(y, 3)


@numba.njit
def of_two_that_call_each_other(x, y):
    y[:] = 0
    left(y, 3)


def result(kernel):
    call = numba_kernel(kernel, jax.ShapeDtypeStruct((1,), jnp.float32))
    return float(call(jnp.ones(1))[0])


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (of_a_callee, (2, 50, 3)),
        (of_a_declared_callee, (2, 50, 3)),
        (of_an_overload, (2, -50, 3)),
        (of_recursion, (6, 150, 9)),
        (of_two_that_call_each_other, (6, 150, 9)),
    ],
)
def test_a_changed_global_of_a_callee(kernel, expected, monkeypatch):
    found = []
    for value in (2.0, 50.0, 3.0):
        monkeypatch.setitem(globals(), "GAIN", value)
        found.append(result(kernel))
    assert tuple(found) == expected


def test_a_callee_that_python_called_before(monkeypatch):
    @numba.njit
    def callee(v):
        return v * GAIN

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = callee(x[i])

    monkeypatch.setitem(globals(), "GAIN", 5.0)
    assert callee(np.float32(1)) == 5
    monkeypatch.setitem(globals(), "GAIN", 7.0)
    assert callee(np.float32(1)) == 5  # as always in Numba
    assert result(kernel) == 7
    assert callee(np.float32(1)) == 7


def test_between_two_kernels_python_called_with_other_types(monkeypatch):
    monkeypatch.setitem(globals(), "GAIN", 11.0)
    assert result(of_a_callee) == 11
    monkeypatch.setitem(globals(), "GAIN", 12.0)
    assert amplified(1) == 11  # `gain` is compiled, and for no arguments
    monkeypatch.setitem(globals(), "GAIN", 11.0)
    assert result(of_a_callee) == 11


def test_a_declared_result_is_no_other_in_a_kernel():
    @numba.njit("int64(float32)")
    def whole(v):
        return v * 2.5

    @numba.njit((numba.int64,))
    def counted(n):
        for i in range(n):
            yield i + 1

    @numba.njit
    def kernel(x, y):
        y[:] = 0
        for i in range(x.size):
            for _ in counted(3):
                y[i] += whole(x[i])

    assert result(kernel) == 6
    assert whole(np.float32(1)) == 2


def test_what_did_not_change_is_compiled_once():
    @numba.njit
    def callee(v):
        return v + np.float32(1)

    def kernel_of(factor):
        @numba.njit
        def kernel(x, y):
            for i in range(x.size):
                y[i] = factor * callee(x[i])

        return kernel

    assert result(kernel_of(2.0)) == 4
    (compiled,) = callee.overloads.values()
    assert result(kernel_of(3.0)) == 6
    assert list(callee.overloads.values()) == [compiled]


PROGRAM = """
import sys
import jax, numba, jax.numpy as jnp
from ffi_bridge import numba_kernel
import functions
from functions import kernel

for value in sys.argv[1:]:
    functions.GAIN = float(value)
    print(numba_kernel(kernel, jax.ShapeDtypeStruct((1,), jnp.float32))(jnp.ones(1)).item())
"""
FUNCTIONS = """
import numba

GAIN = 0.0

@numba.njit(cache={cache})
def callee(v):
    return v * GAIN

@numba.njit
def kernel(x, y):
    for i in range(x.size):
        y[i] = callee(x[i])
"""


@pytest.mark.parametrize("cache", [pytest.param(False, marks=pytest.mark.slow), True])
def test_later_processes_find_nothing_outdated(cache, tmp_path):
    (tmp_path / "functions.py").write_text(FUNCTIONS.format(cache=cache))
    (tmp_path / "program.py").write_text(PROGRAM)
    kept = {"FFI_BRIDGE_CACHE_DIR": str(tmp_path / "kept"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}

    def printed(*values):
        return child_python.output(tmp_path / "program.py", *values, new=True, **kept).split()

    assert printed("2", "50") == ["2.0", "50.0"]
    assert printed("50", "2") == ["50.0", "2.0"]
    assert printed("3") == ["3.0"]


def test_passes_over_a_kernel_and_its_callees_are_freed(monkeypatch):
    """llvmlite frees none that Numba makes: some 90 KB for each module, as long as the process lives."""
    made, freed = [], []

    def noted(where, method):
        def call(self, *args):
            where.append(type(self))
            method(self, *args)

        return call

    for kind in (ModulePassManager, FunctionPassManager):
        monkeypatch.setattr(kind, "__init__", noted(made, kind.__init__))
    monkeypatch.setattr(NewPassManager, "_dispose", noted(freed, NewPassManager._dispose))

    @numba.njit
    def half(v):
        return v / 2

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = half(x[i])

    assert numba_kernel(kernel, jax.ShapeDtypeStruct((2,), "float32"))(jnp.ones(2)).tolist() == [0.5, 0.5]
    assert sorted(map(str, freed)) == sorted(map(str, made))
    assert {*freed} == {ModulePassManager, FunctionPassManager}


def test_no_expressions_of_a_callee_are_kept(capsys):
    def expressions():
        gc.collect()
        return sum(type(x) is ir.Expr for x in gc.get_objects())

    @numba.njit
    def square(v):
        return v * v

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = square(x[i])

    before = expressions()
    assert numba_kernel(kernel, jax.ShapeDtypeStruct((2,), "float32"))(jnp.full(2, 3.0)).tolist() == [9, 9]
    assert expressions() == before
    square.inspect_types()
    assert "Call the function from Python" in capsys.readouterr().out
    assert square(np.float32(3)) == 9
    square.inspect_types()
    assert "v * v  :: float32" in capsys.readouterr().out
