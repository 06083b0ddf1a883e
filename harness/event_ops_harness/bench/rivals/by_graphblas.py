"""SuiteSparse:GraphBLAS, through python-graphblas: sparse products."""

from typing import Any, Final

import graphblas

from event_ops_harness.bench.rivals.by_scipy import PRODUCTS, as_multiplied, operands
from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Steps, repeated

_GB: Any = graphblas  # its annotations say that its names may be None


def _product(problem: Problem) -> Steps:
    matrix, x = operands(problem)
    unique = matrix.copy()
    unique.sum_duplicates()  # GraphBLAS takes none
    rows, columns = unique.shape
    stored = _GB.Matrix.from_csr(unique.indptr, unique.indices, unique.data, nrows=rows, ncols=columns)
    view = as_multiplied(problem, stored)
    if x.ndim == 1:
        vector = _GB.Vector.from_dense(x)
        return Steps(repeated(lambda: view.mxv(vector).new()), _dense)
    dense = _GB.Matrix.from_dense(x)
    return Steps(repeated(lambda: view.mxm(dense).new()), _dense)


def _dense(result: Any) -> Any:
    return result.to_dense(fill_value=0)


OFFERS: Final = {name: {"GraphBLAS": _product} for name in PRODUCTS}
