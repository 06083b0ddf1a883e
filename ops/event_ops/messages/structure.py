"""Where the edges of a graph are: the entries of a matrix of any storage, as arrays of a CSR matrix."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.checks.arrays import as_array
from event_ops.kernels.reference.entries import starts_of
from event_ops.sparse.compact import CompactCSR
from event_ops.sparse.csr import CSR
from event_ops.sparse.ell import ELL
from event_ops.sparse.products import matrix_structure


@dataclass(frozen=True)
class Structure:
    """The entries of a matrix, in their own order, and where a plan has them, also by column.

    Args:
        rows: (indices, indptr) of the matrix as it is stored.
        columns: (rows, indptr, permutation) of its transpose, or () without a plan.
        weight: of entries, or one for all.
        grid: the shape of entries, as the storage has them.
        stored_shape: (rows, columns) as it is stored.
        transposed: whether it is read with rows and columns swapped.
    """

    rows: tuple[jax.Array, ...]
    columns: tuple[jax.Array, ...]
    weight: jax.Array
    grid: tuple[int, ...]
    stored_shape: tuple[int, int]
    transposed: bool

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = self.stored_shape
        return (columns, rows) if self.transposed else (rows, columns)

    def by_row(self) -> tuple[tuple[jax.Array, ...], tuple[int, int]]:
        """Return the arrays for a reduction along rows, then for the transpose; and how many of each."""
        if not self.transposed:
            return self.rows + self.columns, (2, len(self.columns))
        columns = self.columns or tuple(csr_tocsc(*self.rows, shape=self.stored_shape))
        return columns + self.rows, (3, 2)


def structure_of(A: Any) -> Structure:
    """Return the entries of a matrix; raise TypeError for values without entries."""
    if isinstance(A, CSR | ELL | CompactCSR):
        data, *structure = A._as_csr()  # pyright: ignore[reportPrivateUsage]
        rows, shape = matrix_structure(*structure, shape=A.stored_shape), A.stored_shape
        if isinstance(A, CompactCSR):
            return Structure(rows, (), data, rows[0].shape, shape, A.transposed)
        plan = () if A.by_column is None else tuple(A.by_column[:3])
        return Structure(rows, plan, A.data, A.indices.shape, shape, A.transposed)
    if isinstance(A, np.ndarray | jax.Array) and A.ndim == 2:
        return _of_dense(as_array(A, "A"))
    is_array = isinstance(A, np.ndarray | jax.Array)
    described = f"of shape {A.shape}" if is_array else "whose entries are not known here"
    raise TypeError(
        f"A is a {type(A).__name__} {described}; expected a CSR, ELL, CompactCSR or ShardedCSR, or a dense "
        "matrix, of which every element is an edge: CSR(A) converts sparse matrices of SciPy and JAX, and "
        "procedural_tocsr makes the CSR of a generated one"
    )


def _of_dense(W: jax.Array) -> Structure:
    shape = rows, columns = W.shape[0], W.shape[1]
    every = jnp.broadcast_to(jnp.arange(columns, dtype=jnp.int32), W.shape).reshape(-1)
    senders = jnp.broadcast_to(jnp.arange(rows, dtype=jnp.int32), (columns, rows)).reshape(-1)
    # By column without a sort: a transposition has the order.
    places = jnp.arange(rows * columns, dtype=jnp.int32).reshape(W.shape).T.reshape(-1)
    by_column = senders, starts_of(columns, rows), places
    return Structure((every, starts_of(rows, columns)), by_column, W, shape, shape, False)
