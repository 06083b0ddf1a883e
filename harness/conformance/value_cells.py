"""The cells that show whether a backend's values are right, where there is no time for all."""

from collections.abc import Iterator

from event_ops.cases import CONFORMANCE
from event_ops.discover import Operator
from event_ops_harness.conformance.cell import Cell, index_dtype_of
from event_ops_harness.conformance.properties import VALUES


def value_cells(operator: Operator, backend: str) -> Iterator[Cell]:
    """Yield every case in the operator's first dtype, and its first case in the others, too."""
    for case in operator.tagged(CONFORMANCE):
        for dtype in operator.dtypes if case is operator.cases[0] else operator.dtypes[:1]:
            yield Cell(operator, backend, case, dtype, index_dtype_of(dtype), VALUES)
