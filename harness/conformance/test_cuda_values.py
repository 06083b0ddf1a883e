"""Every CUDA backend, compiled for a GPU and run on an emulated one, gives what a plain loop gives."""

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from catalog_operators import OPERATORS
from value_cells import value_cells

from event_ops.cases import CONFORMANCE
from event_ops_harness.conformance.select import small

ON_GPU = [operator for operator in OPERATORS if "numba_cuda" in operator.kernel.backend_names]

QUICK = 1  # cases of an operator


def takes_long(cell):
    """Return whether the cell is left to `nox -s cudasim`: each dtype and each way is compiled anew."""
    operator, case = cell.operator, cell.case
    return cell.dtype != operator.dtypes[0] or case not in operator.tagged(CONFORMANCE)[:QUICK]


CELLS = [
    pytest.param(cell, id=cell.id, marks=[pytest.mark.slow] if takes_long(cell) else [])
    for operator in ON_GPU
    for cell in value_cells(operator, "numba_cuda")
    if small(operator, cell.case)
]


@pytest.mark.parametrize("cell", CELLS)
def test_values(on_gpu, cell):
    cell.check()


def test_every_operator_has_a_cuda_backend():
    assert [operator.name for operator in OPERATORS if operator not in ON_GPU] == []
