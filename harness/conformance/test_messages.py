"""Messages along edges have every property of an operator, on every storage and with every reduction."""

import pytest
from message_operators import OPERATORS
from reviewed import APART, assert_all_hold, assert_holds, parameters

from event_ops_harness.conformance.properties import VALUES, cells

MODULE = "message_operators"
QUICK = ("jit", "vmap", "vjp", "export")
CELLS = cells(OPERATORS)


def is_quick(cell):
    """Return whether `nox -s tests` looks at a cell: the reference's values, and of one case a few more."""
    if "threads" in cell.case.name or cell.dtype != "float32" or cell.index_dtype != "int32":
        return False
    first = cell.backend == "numba_cpu" and cell.case is cell.operator.cases[0]
    values = cell.prop is VALUES and cell.backend in ("numba_cpu", "reference")
    return values or (first and cell.prop.name in QUICK)


@pytest.mark.parametrize("cell", parameters(CELLS, lambda cell: not is_quick(cell)))
def test_cell(cell):
    assert_holds(cell, MODULE)


@pytest.mark.slow
def test_kernels_stay_in_bounds_run_on_8_devices_and_do_not_race():
    assert_all_hold(MODULE, APART)
