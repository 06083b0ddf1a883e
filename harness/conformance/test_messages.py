"""Messages along edges have every property of an operator, on every storage and with every reduction."""

import pytest
from message_operators import OPERATORS
from reviewed import APART, assert_all_hold, assert_holds, parameters

from event_ops_harness.conformance.properties import VALUES, cells

MODULE = "message_operators"
QUICK = ("jit", "vmap", "vjp", "scan", "export")
QUICK_CASES = ("csr-sum", "csr-mul", "planned-sum", "ell-sum", "dense-sum", "csr")
CELLS = cells(OPERATORS)


def is_quick(cell):
    """Return whether `nox -s tests` looks at a cell: values of some cases, and of one a few properties more.

    `test_gspmm` looks at every storage and reduction there.
    """
    if cell.backend != "numba_cpu" or cell.dtype not in ("float32", cell.prop.dtype):
        return False
    if cell.prop is VALUES:
        return cell.case.name in QUICK_CASES and cell.index_dtype == "int32"
    return cell.operator is OPERATORS[0] and cell.case.name == "csr-sum" and cell.prop.name in QUICK


@pytest.mark.parametrize("cell", parameters(CELLS, lambda cell: not is_quick(cell)))
def test_cell(cell):
    assert_holds(cell, MODULE)


@pytest.mark.slow
def test_kernels_stay_in_bounds_run_on_8_devices_and_do_not_race():
    assert_all_hold(MODULE, APART)
