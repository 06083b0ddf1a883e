"""SciPy's CSR matrices: products, in which events are floats, cast beforehand, and conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import scipy.sparse

from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Run, repeated

PRODUCTS: Final = (
    *("csr_event_matmat", "csr_event_matvec", "csr_matmat", "csr_matvec"),
    *("ell_event_matvec", "ell_matvec"),
)


def operands(problem: Problem) -> tuple[Any, np.ndarray]:
    """Return the matrix as CSR, not transposed, and the vector or matrix that it multiplies."""
    data, indices, *ends, x = problem.args
    weights, shape = np.broadcast_to(data, indices.shape), problem.kwargs["shape"]
    if not ends:  # ELLPACK: without the padding, which SciPy would read out of bounds for
        inside = (indices >= 0) & (indices < shape[1])
        ends = [np.append(0, np.cumsum(inside.sum(axis=1))).astype(indices.dtype)]
        weights, indices = weights[inside], indices[inside]
    return scipy.sparse.csr_matrix((weights, indices, *ends), shape=shape), np.asarray(x, data.dtype)


def as_multiplied(problem: Problem, matrix: Any) -> Any:
    """Return the matrix, or its transpose where the operator multiplies with that."""
    return matrix.T if problem.kwargs.get("transpose") else matrix


def _product(problem: Problem) -> dict[str, Run]:
    matrix, x = operands(problem)
    view = as_multiplied(problem, matrix)
    return {"SciPy": repeated(lambda: view @ x)}


def _conversion(method: str) -> Callable[[Problem], dict[str, Run]]:
    def convert(problem: Problem) -> dict[str, Run]:
        *data, indices, indptr = problem.args
        weights = data[0] if data else np.ones(indices.size, np.float32)
        matrix = scipy.sparse.csr_matrix((weights, indices, indptr), shape=problem.kwargs["shape"])
        return {"SciPy": repeated(getattr(matrix, method))}

    return convert


OFFERS: Final = dict.fromkeys(PRODUCTS, _product) | {
    "csr_tocsc": _conversion("tocsc"),
    "csr_todense": _conversion("toarray"),
}
