"""Every CUDA backend, compiled for a GPU and run on one made of Python, gives what a plain loop gives."""

import numpy as np
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
    for operator in ON_GPU:
        for case in operator.tagged(CONFORMANCE):
            # One dtype of each kind: test_cuda_rows has them all.
            kinds = {np.dtype(dtype).kind: dtype for dtype in reversed(operator.dtypes)}
            for dtype in kinds.values() if case is operator.cases[0] else operator.dtypes[:1]:
                if small(operator, case):
                    yield Cell(operator, "numba_cuda", case, dtype, index_dtype_of(dtype), VALUES)


CELLS = [
    pytest.param(
        cell,
        id=cell.id,
        marks=[pytest.mark.slow] if (cell.operator.name, cell.case.name) in MANY_THREADS else [],
    )
    for cell in cells()
]


@pytest.mark.parametrize("cell", CELLS)
def test_values(on_gpu, cell):
    cell.check()


def test_every_operator_has_a_cuda_backend():
    assert [operator.name for operator in OPERATORS if operator not in ON_GPU] == []
