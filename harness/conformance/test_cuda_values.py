"""Every CUDA backend, compiled for a GPU and run on one made of Python, gives what a plain loop gives."""

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from catalog_operators import OPERATORS

from event_ops.case import CONFORMANCE
from event_ops_harness.conformance.cell import Cell, index_dtype_of
from event_ops_harness.conformance.properties import VALUES
from event_ops_harness.conformance.select import small

ON_GPU = [operator for operator in OPERATORS if "numba_cuda" in operator.kernel.backend_names]
# A block for each digit of the sort: half a minute in Python for 128 of them.
MANY_THREADS = {("csr_tocsc", "empty-columns"), ("csr_tocsc", "unsorted")}


def cells():
    """Every case in the operator's first dtype, its first case in all of them."""
    for operator in ON_GPU:
        for case in operator.tagged(CONFORMANCE):
            for dtype in operator.dtypes if case is operator.cases[0] else operator.dtypes[:1]:
                if small(operator, case):
                    yield Cell(operator, "numba_cuda", case, dtype, index_dtype_of(dtype), VALUES)


def takes_long(cell):
    """Each dtype is compiled anew: `nox -s tests` has one of them."""
    operator, case = cell.operator, cell.case
    return cell.dtype != operator.dtypes[0] or (operator.name, case.name) in MANY_THREADS


CELLS = [
    pytest.param(cell, id=cell.id, marks=[pytest.mark.slow] if takes_long(cell) else []) for cell in cells()
]


@pytest.mark.parametrize("cell", CELLS)
def test_values(on_gpu, cell):
    cell.check()


def test_every_operator_has_a_cuda_backend():
    assert [operator.name for operator in OPERATORS if operator not in ON_GPU] == []
