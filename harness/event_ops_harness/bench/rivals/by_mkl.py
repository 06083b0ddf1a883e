"""MKL's sparse products, of SciPy's matrices.

`nox -s bench` sets MKL_RT: sparse_dot_mkl looks for MKL in the system, not where pip puts it.
"""

from typing import Final

from sparse_dot_mkl import dot_product_mkl

from event_ops_harness.bench.rivals.by_scipy import PRODUCTS, as_multiplied, operands
from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Steps, repeated


def _product(problem: Problem) -> Steps:
    matrix, x = operands(problem)
    # A transposed CSR matrix is one of CSC to SciPy, which MKL takes as it is.
    view = as_multiplied(problem, matrix)
    return Steps(repeated(lambda: dot_product_mkl(view, x)))


OFFERS: Final = {name: {"MKL": _product} for name in PRODUCTS}
