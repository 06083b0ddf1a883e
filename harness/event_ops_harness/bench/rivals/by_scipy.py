"""SciPy's CSR matrices: products, in which events are floats, cast beforehand, and conversions."""

from typing import Any, Final

import numpy as np
import scipy.sparse

from event_ops.cases.matrices import unpacked
from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Steps, repeated

PRODUCTS: Final = (
    *("csr_event_matmat", "csr_event_matvec", "csr_matmat", "csr_matvec"),
    *("ell_event_matvec", "ell_matvec", "compact_event_matvec", "compact_matvec"),
)


def csr_arguments(problem: Problem) -> tuple[Any, ...]:
    """Return the arguments of a product, with weights and indices where the matrix is stored in words."""
    if not problem.operator.name.startswith("compact_"):
        return problem.args
    words, indptr, scale, x = problem.args
    codes, indices, indptr = unpacked(words, indptr, problem.kwargs["shape"][1])
    return codes * scale, indices, indptr, x


def operands(problem: Problem) -> tuple[Any, np.ndarray]:
    """Return the matrix as CSR, not transposed, and the vector or matrix that it multiplies."""
    data, indices, *ends, x = csr_arguments(problem)
    weights, shape = np.broadcast_to(data, indices.shape), problem.kwargs["shape"]
    if not ends:  # ELLPACK: without the padding, which SciPy would read out of bounds for
        inside = (indices >= 0) & (indices < shape[1])
        ends = [np.append(0, np.cumsum(inside.sum(axis=1))).astype(indices.dtype)]
        weights, indices = weights[inside], indices[inside]
    return scipy.sparse.csr_matrix((weights, indices, *ends), shape=shape), np.asarray(x, data.dtype)


def as_multiplied(problem: Problem, matrix: Any) -> Any:
    """Return the matrix, or its transpose where the operator multiplies with that."""
    return matrix.T if problem.kwargs.get("transpose") else matrix


def _product(problem: Problem) -> Steps:
    matrix, x = operands(problem)
    view = as_multiplied(problem, matrix)
    return Steps(repeated(lambda: view @ x))


def laplacian(problem: Problem) -> Any:
    """Return the matrix whose product with the potentials is the current through junctions."""
    matrix, _ = operands(problem)
    return scipy.sparse.csr_matrix(matrix - scipy.sparse.diags(np.asarray(matrix.sum(axis=1)).ravel()))


def _gap_current(problem: Problem) -> Steps:
    matrix, v = laplacian(problem), problem.args[-1]
    return Steps(repeated(lambda: matrix @ v))


def _transposed(problem: Problem) -> Steps:
    """Sort the entries by columns; entries of one place stay in their order, as the weights show."""
    indices, indptr = problem.args
    order = np.arange(indices.size, dtype=indices.dtype)
    matrix = scipy.sparse.csr_matrix((order, indices, indptr), shape=problem.kwargs["shape"])
    return Steps(repeated(matrix.tocsc), lambda csc: (csc.indices, csc.indptr, csc.data))


def _dense(problem: Problem) -> Steps:
    matrix = scipy.sparse.csr_matrix(problem.args, shape=problem.kwargs["shape"])
    return Steps(repeated(matrix.toarray))


OFFERS: Final = {name: {"SciPy": _product} for name in PRODUCTS} | {
    "csr_gap_current": {"SciPy, Laplacian": _gap_current},
    "csr_tocsc": {"SciPy": _transposed},
    "csr_todense": {"SciPy": _dense},
}
