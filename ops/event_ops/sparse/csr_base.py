"""What a `CSR` holds: its arrays, its shape, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import jax
from jax.typing import ArrayLike

from event_ops.catalog.csr_todense.op import csr_todense
from event_ops.checks.arrays import NUMBERS, as_array
from event_ops.checks.csr import (
    KEEP,
    check_csr,
    check_in_range,
    check_indptr,
    checkify_copy,
    checkify_structure,
    event_weights,
    matrix_shape,
)
from event_ops.sparse.arithmetic import repeated, same_array
from event_ops.sparse.convert import parts_given
from event_ops.sparse.plan import ByColumn, by_column, reweighted


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CSRBase:
    """The arrays of a CSR matrix, its shape, whether it is read transposed, and its plan or None."""

    data: jax.Array
    indices: jax.Array
    indptr: jax.Array
    by_column: ByColumn | None
    stored_shape: tuple[int, int]
    transposed: bool

    def __init__(
        self, data: Any, indices: Any = None, indptr: Any = None, *, shape: Any = None, validate: bool = True
    ) -> None:
        parts = parts_given(data, indices, indptr, shape, validate)
        indices, indptr = as_array(parts.indices, "indices"), as_array(parts.indptr, "indptr")
        weights = event_weights(as_array(parts.data, "data"), indices, float)
        size = matrix_shape(parts.shape)
        check_csr(weights, indices, indptr, size, NUMBERS)
        if validate:
            check_indptr(indptr, indices.shape[0], KEEP)
            check_in_range("indices", indices, size[1], "columns", KEEP)
        self._fill(weights, indices, indptr, None, size, False)

    def _fill(self, *values: Any) -> None:
        vars(self).update(zip(CSRBase.__dataclass_fields__, values, strict=True))

    def _changed(self, **changes: Any) -> Self:
        new = object.__new__(type(self))
        vars(new).update(vars(self) | changes)
        return new

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = self.stored_shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def nse(self) -> int:
        """The number of stored entries."""
        return self.indices.shape[-1]

    @property
    def nnz(self) -> int:
        """The number of stored entries, as SciPy counts them: stored zeros, too. The same as `nse`."""
        return self.nse

    @property
    def dtype(self) -> Any:
        """The dtype of the weights."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """2."""
        return len(self.stored_shape)

    @property
    def T(self) -> Self:
        """The transpose: the same three arrays, which mean what they did, read the other way round."""
        return self._changed(transposed=not self.transposed)

    def __repr__(self) -> str:
        rows, columns = self.shape
        nse = getattr(self.indices, "shape", ("?",))[-1]
        full = f" ({nse / (rows * columns):.2g} of all)" if isinstance(nse, int) and rows * columns else ""
        sizes, pointers = (getattr(leaf, "shape", None) for leaf in (self.data, self.indptr))
        batch = (pointers or ())[:-1] or (sizes or ())[:-1]
        weights = "one weight, " if sizes == batch else ""
        notes = ", transposed" * self.transposed + ", planned" * (self.by_column is not None)
        notes += f", a batch of {batch}" if batch else ""
        return (
            f"CSR({rows} x {columns}, {nse} entries{full}, {weights}{_kind(self.data)}, "
            f"indices {_kind(self.indices)}{notes})"
        )

    def with_data(self, data: ArrayLike) -> Self:
        """The same structure with other weights, (nse,) or one for all; a plan is brought up to date."""
        weights = event_weights(data, self.indices, self.dtype)
        check_csr(weights, self.indices, self.indptr, self.stored_shape, NUMBERS)
        plan = self.by_column
        keeps = plan is not None and (plan.weights is not None or self.data.ndim == 0)
        return self._changed(data=weights, by_column=reweighted(plan, weights) if plan and keeps else plan)

    def astype(self, dtype: Any) -> Self:
        """The same matrix with weights of another dtype."""
        return self.with_data(self.data.astype(dtype))

    def plan(self, *, weights: bool = True) -> Self:
        """The same matrix with its entries kept by column too: `A @ Events(x)` then follows the events.

        Without, that product looks at every entry; `Events(x) @ A` never does. One sort and twice the memory;
        `with_data` needs no further sort. Change planned weights by with_data, not leaf by leaf: a gradient
        with respect to the whole pytree is in the leaf `data` alone. With weights=False only the places of
        entries are kept: for `stdp_on_post` at each step of a loop, which then has no copy to bring up to
        date; `A @ Events(x)` looks at every entry again.
        """
        plan = by_column(self.indices, self.indptr, self.stored_shape)
        return self._changed(by_column=reweighted(plan, self.data) if weights else plan)

    def tocsr(self) -> Self:
        """The same matrix, not read transposed: sorted anew if it was, or as its plan has it."""
        if not self.transposed:
            return self
        plan = self.by_column or by_column(self.indices, self.indptr, self.stored_shape)
        indices, indptr, permutation, _ = plan
        data = self.data[permutation] if self.data.ndim else self.data
        return type(self)(data, indices, indptr, shape=self.shape, validate=False)

    def todense(self) -> jax.Array:
        """The matrix as a dense array; duplicates added up."""
        D = csr_todense(self.data, self.indices, self.indptr, shape=self.stored_shape)
        return D.T if self.transposed else D

    # SciPy's name; the array is one of JAX.
    toarray = todense

    def same_structure(self, other: CSRBase) -> bool:
        """Whether entry k has the same place in both, for every k. While tracing: see the error."""
        if (self.stored_shape, self.transposed) != (other.stored_shape, other.transposed):
            return False
        return same_array(self.indptr, other.indptr) and same_array(self.indices, other.indices)

    def check(self) -> None:
        """Look at the values of indices, indptr and plan: by `jax.experimental.checkify` also under jit."""
        checkify_structure(self.indices, self.indptr, self.stored_shape[1])
        if self.by_column and self.by_column.weights is not None:
            checkify_copy(self.by_column.weights, self.data, self.by_column.permutation)

    def repeated_data(self) -> jax.Array:
        """The weights, one for each entry."""
        return repeated(self.data, self.nse)


def _kind(leaf: Any) -> str:
    return str(getattr(leaf, "dtype", type(leaf).__name__))
