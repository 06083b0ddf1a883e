"""The product of two `CSR`s (SpGEMM): every entry of A meets the entries of a row of B."""

from importlib import import_module
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

from event_ops.catalog.segment_sum.op import segment_sum
from event_ops.checks.arrays import HALVES, is_inside, is_known, summed_in
from event_ops.checks.keywords import known_size
from event_ops.checks.values import check_room
from event_ops.kernels.reference.entries import rows_of, values_at
from event_ops.sparse.convert import nan_unless
from event_ops.sparse.coordinates import (
    bounded,
    constant,
    coordinates,
    distinct,
    has_known_structure,
    known_coordinates,
    of_sorted,
    outside_index,
    row_lengths,
)
from event_ops.sparse.products import promoted
from event_ops.sparse.selection import ends_of_lengths

Matrix = TypeVar("Matrix", bound=Any)


def matmul(A: Matrix, B: Matrix, *, nse: int | None = None) -> Matrix:
    """`C = A @ B` for two sparse matrices, as a sparse matrix: `C[i, j] = sum over l of A[i, l] * B[l, j]`.

    Where both structures are known, so is that of C, also while weights are traced: sorted, without
    duplicates, and an entry wherever a product is, even if the sum is 0. Weights that are known are
    multiplied by SciPy, in two passes, of which the first finds how many entries C has. Weights that are
    traced or of 16 bits are multiplied one by one before they are added, which takes memory for as many.

    With `nse`, and while structures are traced, C has one entry for each product of two entries, and these
    are not added up until C is used; nse has to be as many, the sum of the lengths of the rows of B that
    entries of A point at. Entries that are left over have weight 0, a column out of range and a place behind
    what indptr spans. If there are more products than nse while tracing, the weights, unless they are
    integers, are NaN, and those of the last rows are missing; `validate` raises.

    Differentiable in the weights of both.

    Args:
        B: a `CSR`, (columns of A, n).
        nse: room for so many products, static.

    Raises:
        TypeError: B is not a `CSR`.
        ValueError: shapes that do not fit; no nse while tracing; an nse that is known to be too small.

    Source: F. G. Gustavson, ACM Transactions on Mathematical Software 4 (1978) 250-269: products by rows.
    """
    if not isinstance(B, type(A)):
        raise TypeError(f"got {type(B).__name__}; expected a CSR: A @ CSR(x), or A @ x for a dense x")
    if A.shape[1] != B.shape[0]:
        hint = "; it fits B.T" if A.shape[1] == B.shape[1] else ""
        raise ValueError(f"B has shape {B.shape}; expected ({A.shape[1]}, n), for A of shape {A.shape}{hint}")
    if nse is not None:
        return _apart(A, B, known_size("nse", nse))
    if A.transposed and A.shape[0] > np.iinfo(np.int32).max:  # rows that C is better not stored by
        return matmul(B.T, A.T).T
    if not has_known_structure(A, B):
        raise ValueError(
            "while tracing, the number of products is not known; give the most that there can be: "
            "A.matmul(B, nse=...)"
        )
    weights_of_scipy = is_known(A.data, B.data) and A.dtype not in HALVES and B.dtype not in HALVES
    return (_in_two_passes if weights_of_scipy else _added_up)(A, B)


def _in_two_passes(A: Any, B: Any) -> Any:
    """Return C with one entry for each element, of matrices whose weights are known, too."""
    a, b = promoted(A.repeated_data(), B.repeated_data())
    (row_a, l_a, k_a), (l_b, column_b, k_b) = known_coordinates(A), known_coordinates(B)
    # SciPy takes memory for every row and column of B, of which there may be more than entries.
    inner, l = np.unique(np.concatenate([l_a, l_b]), return_inverse=True)
    used, j = np.unique(column_b, return_inverse=True)

    def multiplied(values_a: Any, values_b: Any) -> Any:
        coo = import_module("scipy.sparse").coo_array
        left = coo((values_a, (row_a, l[: l_a.size])), shape=(A.shape[0], inner.size)).tocsr()
        product = left @ coo((values_b, (l[l_a.size :], j)), shape=(inner.size, used.size)).tocsr()
        product.sort_indices()
        return product

    product = multiplied(np.asarray(a)[k_a], np.asarray(b)[k_b])
    pattern = multiplied(np.ones(k_a.size, bool), np.ones(k_b.size, bool))
    data = product.data
    if product.nnz < pattern.nnz:  # SciPy leaves out sums that are 0
        data = np.zeros(pattern.nnz, data.dtype)
        data[np.searchsorted(_keys(pattern), _keys(product))] = product.data
    shape = A.shape[0], B.shape[1]
    structure = constant(used[pattern.indices], *shape), constant(pattern.indptr, pattern.nnz)
    return type(A)(jnp.asarray(data), *structure, shape=shape, validate=False)


def _keys(matrix: Any) -> Any:
    """Return row * columns + column of each entry of a matrix of SciPy."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return row * matrix.shape[1] + matrix.indices


def _added_up(A: Any, B: Any) -> Any:
    """Return C with one entry for each element, of known structures and any weights."""
    shape = A.shape[0], B.shape[1]
    row_a, l_a, k_a = known_coordinates(A)
    l_b, column_b, k_b = known_coordinates(B)
    by_row = np.argsort(l_b, kind="stable")
    starts = np.searchsorted(l_b[by_row], l_a)
    lengths = np.searchsorted(l_b[by_row], l_a, side="right") - starts
    # Of each product, its entries of A and of B, and its element of C, by which they are sorted.
    of_a = np.repeat(np.arange(l_a.size), lengths)
    within = np.arange(of_a.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    of_b = by_row[starts[of_a] + within]
    row, column, element = distinct(row_a[of_a], column_b[of_b])
    order = np.argsort(element, kind="stable")
    pairs = k_a[of_a[order]], k_b[of_b[order]], element[order]
    of_a, of_b, places = map(constant, pairs, (A.nse, B.nse, row.size))
    a, b = promoted(A.repeated_data(), B.repeated_data())
    wide = summed_in(a)
    terms = values_at(a, of_a).astype(wide) * values_at(b, of_b).astype(wide)
    sums = segment_sum(terms, places, num_segments=row.size, indices_are_sorted=True)
    return of_sorted(type(A), sums.astype(a.dtype), row, column, shape)


def _apart(A: Any, B: Any, nse: int) -> Any:
    """Return C with one entry for each product, in room for nse."""
    by_row, factor = A.tocsr(), B.tocsr()
    row, column = coordinates(by_row)
    lengths = jnp.where(is_inside(row, A.shape[0]), values_at(row_lengths(factor), column), 0)
    ends, total = ends_of_lengths(lengths)
    total = check_room("A.matmul", total, nse)
    of_a = rows_of(ends, nse)
    starts = values_at(values_at(bounded(factor.indptr[:-1], B.nse), column), of_a)
    of_b = starts + jnp.arange(nse, dtype=starts.dtype) - values_at(ends, of_a)
    real = jnp.arange(nse, dtype=ends.dtype) < ends[-1]
    a, b = promoted(by_row.repeated_data(), factor.repeated_data())
    data = nan_unless(total <= nse, jnp.where(real, values_at(a, of_a) * values_at(b, of_b), 0))
    indices = jnp.where(
        real, values_at(factor.indices, of_b), outside_index(B.shape[1], factor.indices.dtype)
    )
    indptr = ends[bounded(by_row.indptr, A.nse)]
    return type(A)(data, indices, indptr, shape=(A.shape[0], B.shape[1]), validate=False)
