"""`ELL`: a sparse matrix whose rows have the same number of entries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self, overload

import jax
from jax.typing import ArrayLike

from event_ops.checks.arrays import WEIGHTS, as_array
from event_ops.checks.contracts import columns_or_padding
from event_ops.checks.csr import KEEP, check_ell, event_weights, matrix_shape
from event_ops.checks.values import check_values, checkify_values
from event_ops.kernels.reference.entries import ell_as_csr
from event_ops.sparse import convert, ell_convert
from event_ops.sparse.csr import CSR
from event_ops.sparse.events import Events
from event_ops.sparse.matrix import Matrix, register_format

LEAVES = ("data", "indices", "by_column")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ELL(Matrix):
    """`A[i, indices[i, k]] += data[i, k]`: a sparse matrix with as many entries in each row.

    The ELLPACK format, for connections of a fixed number per neuron. A fixed number per column is the
    transpose of such a matrix, `ELL(data, indices, shape=(columns, rows)).T`. All else is as in `CSR`: a
    pytree, of which data and indices are leaves; `A @ v`, `v @ A`, `A @ B`, `B @ A`, the same with `Events`,
    gradients, arithmetic, a plan, STDP.

    Args:
        data: (rows, per_row), the weights; any real, complex or integer dtype of 32 or 64 bits; float16,
            bfloat16 or an integer of 8 or 16 bits. Or one weight for all entries: 0-d, (1,) or a number.
        indices: (rows, per_row), the column of each weight; int32, int64 or unsigned; unsorted, duplicates
            add up. -1, `columns` or the largest integer is padding, and contributes nothing.
        shape: (rows, columns), static.
        validate: check the values of indices, unless they are traced; `check` is for traced ones.

    Raises:
        TypeError: a dtype that is not supported.
        ValueError: sizes that do not fit `shape`; with validate=True an index that is no column, nor padding.

    Example:
        >>> import numpy as np
        >>> from event_ops import ELL, Events
        >>> A = ELL(np.float32([[1, 2], [3, 4]]), np.int32([[0, 2], [1, 2]]), shape=(2, 3))
        >>> A @ np.ones(3, np.float32)
        Array([3., 7.], dtype=float32)
        >>> Events(np.array([True, False])) @ A  # row i: what neuron i sends
        Array([1., 0., 2.], dtype=float32)

    Source: the ELLPACK-ITPACK storage format.
    """

    def __init__(
        self, data: ArrayLike, indices: ArrayLike, *, shape: tuple[int, int], validate: bool = True
    ) -> None:
        indices, shape = as_array(indices, "indices"), matrix_shape(shape)
        weights = event_weights(as_array(data, "data"), indices, float)
        check_ell(weights, indices, shape, WEIGHTS)
        if validate:
            check_values("indices", indices, columns_or_padding({"shape": shape}), KEEP)
        vars(self).update(data=weights, indices=indices, by_column=None)
        vars(self).update(stored_shape=shape, transposed=False)

    def _structure(self) -> tuple[jax.Array, ...]:
        return (self.indices,)

    def _as_csr(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        return ell_as_csr(self.data, self.indices)

    def _check(self, data: jax.Array) -> None:
        check_ell(data, self.indices, self.stored_shape, WEIGHTS)

    def _product(self, data: jax.Array, x: jax.Array) -> jax.Array:
        return ell_convert.product(self, data, x)

    def _event_product(self, events: Events) -> jax.Array:
        return ell_convert.event_product(self, events)

    def _stored_dense(self) -> jax.Array:
        return ell_convert.ell_todense(self.data, self.indices, shape=self.stored_shape)

    def __repr__(self) -> str:
        return convert.text_of(self, axes=2, per=" per column" if self.transposed else " per row")

    @property
    def nse(self) -> int:
        """The number of stored entries, padding included."""
        return math.prod(self.indices.shape[-2:])

    @overload
    def tocsr(self) -> CSR: ...

    @overload
    def tocsr(self, *, return_order: bool) -> Any: ...

    def tocsr(self, *, return_order: bool = False) -> Any:
        """Return the matrix as a `CSR` not read transposed, without padding where indices are known.

        Args:
            return_order: return `(matrix, order)`: entry k of it is `data.reshape(-1)[order[k]]` of this one.
        """
        parts = ell_convert.csr_parts(self.data, self.indices, self.stored_shape)
        stored, order = convert.built(CSR, parts, False, return_order=True)
        matrix, permutation = (stored.T if self.transposed else stored).tocsr(return_order=True)
        return (matrix, order[permutation]) if return_order else matrix

    def _check_values(self) -> None:
        checkify_values("indices", self.indices, columns_or_padding({"shape": self.stored_shape}))

    @overload
    @classmethod
    def from_csr(cls, A: CSR, *, per_row: int | None = ...) -> Self: ...

    @overload
    @classmethod
    def from_csr(cls, A: CSR, *, per_row: int | None = ..., return_order: bool) -> Any: ...

    @classmethod
    def from_csr(cls, A: CSR, *, per_row: int | None = None, return_order: bool = False) -> Any:
        """Convert a `CSR` whose rows are of one length; with per_row, pad the rows that are shorter.

        Entries of a row keep their order. Free slots are left out if per_row is given, else they stay.
        Raise ValueError for rows of different lengths without per_row, for a row that is longer, and for a
        matrix that is being traced, whose lengths are not known.

        Args:
            return_order: return `(matrix, order)`; order: (rows, per_row), integers: entry [i, k] is entry
                order[i, k] of A; for padding A.nse, which is out of range.
        """
        data, indices, order = ell_convert.from_csr(A, per_row)
        B = cls(data, indices, shape=A.shape)
        return (B, order) if return_order else B

    @classmethod
    def from_dense(cls, matrix: ArrayLike, *, per_row: int | None = None) -> Self:
        """Convert the elements that are not zero, sorted by row and column, as `from_csr` does."""
        return cls.from_csr(CSR.from_dense(matrix), per_row=per_row)


register_format(ELL, LEAVES, "event_ops.ELL")
