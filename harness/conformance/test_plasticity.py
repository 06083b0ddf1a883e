"""Rules of synapses have every property of an operator, and a wrong expression of a primitive is noticed."""

import jax
import pytest
from plasticity_operators import OPERATORS
from reviewed import APART, assert_all_hold, assert_holds, parameters

from event_ops.codegen import primitives
from event_ops.plasticity import numba_cpu
from event_ops_harness.conformance.check import look_at
from event_ops_harness.conformance.properties import VALUES, cells
from event_ops_harness.results import FAILED

MODULE = "plasticity_operators"
QUICK = ("values", "jit", "vmap", "vjp", "nan_derivatives", "bounds")
CELLS = cells(OPERATORS)


def is_quick(cell):
    """Return whether `nox -s tests` looks at a cell: values, and a few other properties of one operator."""
    usual = (cell.dtype, cell.index_dtype) == ("float32", "int32") or cell.prop is not VALUES
    first = cell.backend == "numba_cpu" and cell.case.name == "random"
    wanted = cell.prop.name in QUICK if cell.operator is OPERATORS[0] else cell.prop is VALUES
    return usual and first and wanted


@pytest.mark.parametrize("cell", parameters(CELLS, lambda cell: not is_quick(cell)))
def test_cell(cell):
    assert_holds(cell, MODULE)


WRONG = {
    "sub": "{1} - {0}",
    "select_n": "{1} if {0} else {2}",
    "gt": "{0} < {1}",
    "neg": "{0}",
    "tanh": "np.sinh({0})",
    "div": "{1} / {0}",
}


@pytest.fixture
def nothing_compiled():
    """Forget what was compiled, before and after."""
    _forget()
    yield
    _forget()


def _forget():
    numba_cpu.kernel.cache_clear()
    jax.clear_caches()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize(
    "name", ["sub", *(pytest.param(x, marks=pytest.mark.slow) for x in WRONG if x != "sub")]
)
def test_the_kit_notices_a_wrong_expression(name, monkeypatch):
    cell = next(c for c in CELLS if c.id == "rule_on_pre-numba_cpu-random-float32-values")
    monkeypatch.setitem(primitives.EXPRESSIONS, name, WRONG[name])
    assert look_at(cell, MODULE).status == FAILED


@pytest.mark.slow
def test_kernels_stay_in_bounds_run_on_8_devices_and_do_not_race():
    assert_all_hold(MODULE, APART)
