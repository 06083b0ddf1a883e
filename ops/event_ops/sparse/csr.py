"""`CSR`: a sparse matrix whose rows have entries of any number."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass
from typing import Any, Self, overload

import jax
from jax.typing import ArrayLike

from event_ops.catalog.csr_matmat.op import csr_matmat
from event_ops.catalog.csr_matvec.op import csr_matvec
from event_ops.checks import contracts
from event_ops.checks.arrays import WEIGHTS
from event_ops.checks.csr import check_csr
from event_ops.checks.values import checkify_values
from event_ops.sparse import (
    arithmetic,
    compact,
    convert,
    coordinates,
    draw,
    foreign,
    selection,
    solvers,
    spgemm,
    union,
)
from event_ops.sparse.events import Events
from event_ops.sparse.matrix import Matrix, register_format
from event_ops.sparse.products import by_column, event_product

LEAVES = ("data", "indices", "indptr", "by_column")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CSR(Matrix):
    """`A[i, indices[k]] += data[k]` for the entries k of row i: a sparse matrix in the CSR format.

    A pytree: data, indices and indptr are leaves, the shape is static; so it can be an argument or a result
    of any transformed function. `A @ v`, `v @ A`, `A @ B`, `B @ A` are products, of more than two axes as in
    jnp.matmul; dtypes are promoted as in JAX, and products of 16 bits summed in float32. `A @ Events(x)` and
    `Events(x) @ A` cost what the active elements of x cost; bools without `Events` are numbers, 0 and 1. A
    number or an array that broadcasts to the matrix multiplies or divides its weights. Matrices add, subtract
    and multiply: `A + B`, `A @ B`, and element by element `A * B`, which has the entries that both have, or,
    where structures are traced, those of A, with weight 0 where B has none.

    An attribute of the entries, such as a delay, is an array like `data`, in its order. The order stays in
    `A.T`, with_data, plan, prune, rewire, normalize, arithmetic with numbers and dense arrays, and products.
    All else that can change it takes `return_order=True`: from_coo, from_scipy, from_bcoo, from_bcsr, tocsr,
    to_coo, rows, `ELL.from_csr`, `ELL.tocsr`, `shard_csr`. A sum or product of two matrices has new entries.

    Gradients: `jax.grad(lambda w: loss(A.with_data(w)))(A.data)`. With respect to a whole matrix,
    `jax.grad(loss, allow_int=True)(A).data`: jax.grad asks for allow_int, as the structure is integers.

    Args:
        data: (nse,), the weights; any real, complex or integer dtype of 32 or 64 bits; float16, bfloat16 or
            an integer of 8 or 16 bits. Or one weight for all entries: 0-d, (1,) or a number.
            Or all of the matrix, without indices and indptr: (data, indices, indptr) or (data, (row, col)),
            each with `shape`; or a sparse matrix of SciPy, a BCSR, BCOO or CSR; or a dense matrix.
        indices: (nse,), the column of each weight; int32, int64 or unsigned; unsorted, duplicates add up.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        shape: (rows, columns), static.
        validate: check the values of indices and indptr, unless they are traced; `check` is for traced ones.

    Raises:
        TypeError: a dtype that is not supported, or data that is no matrix.
        ValueError: sizes that do not fit `shape`; with validate=True columns out of range, or an indptr that
            does not rise from 0 to nse.

    Example:
        >>> import numpy as np
        >>> from event_ops import CSR, Events
        >>> A = CSR.from_dense(np.array([[1, 0, 2], [0, 3, 0]], np.float32))
        >>> A @ np.ones(3, np.float32)
        Array([3., 3.], dtype=float32)
        >>> A.T @ np.ones(2, np.float32)
        Array([1., 3., 2.], dtype=float32)
    """

    indptr: jax.Array

    def __init__(
        self, data: Any, indices: Any = None, indptr: Any = None, *, shape: Any = None, validate: bool = True
    ) -> None:
        parts = foreign.parts_given(data, indices, indptr, shape, validate)
        data, indices, indptr, shape, _ = convert.checked(parts, validate)
        # A frozen dataclass refuses to have its attributes set one by one.
        vars(self).update(data=data, indices=indices, indptr=indptr)
        vars(self).update(by_column=None, stored_shape=shape, transposed=False)

    def _structure(self) -> tuple[jax.Array, ...]:
        return self.indices, self.indptr

    def _as_csr(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        return self.data, self.indices, self.indptr

    def _check(self, data: jax.Array) -> None:
        check_csr(data, self.indices, self.indptr, self.stored_shape, WEIGHTS)

    def _product(self, data: jax.Array, x: jax.Array) -> jax.Array:
        product = csr_matvec if x.ndim == 1 else csr_matmat
        return product(data, self.indices, self.indptr, x, shape=self.stored_shape, transpose=self.transposed)

    def _event_product(self, events: Events) -> jax.Array:
        return event_product(self._as_csr(), events, self.stored_shape, self.transposed)

    def __repr__(self) -> str:
        return convert.text_of(self, axes=1)

    @property
    def nse(self) -> int:
        """The number of stored entries."""
        return self.indices.shape[-1]

    @overload
    def tocsr(self) -> Self: ...

    @overload
    def tocsr(self, *, return_order: bool) -> Any: ...

    def tocsr(self, *, return_order: bool = False) -> Any:
        """Return the matrix not read transposed: sort its entries if it is, or take them from its plan.

        Args:
            return_order: return `(matrix, order)`: entry k of it is entry order[k] of this one.
        """
        if not self.transposed:
            return (self, convert.numbers(self.nse)) if return_order else self
        plan = self.by_column or by_column(self.indices, self.indptr, self.stored_shape)
        indices, indptr, permutation, _ = plan
        data = self.data[permutation] if self.data.ndim else self.data
        A = type(self)(data, indices, indptr, shape=self.shape, validate=False)
        return (A, permutation) if return_order else A

    def _check_values(self) -> None:
        arguments = {"indices": self.indices, "shape": self.stored_shape}
        checkify_values("indices", self.indices, contracts.columns(arguments))
        checkify_values("elements of indptr", self.indptr, contracts.ends_of("indices")(arguments))

    @overload
    @classmethod
    def from_scipy(cls, matrix: Any, *, validate: bool = ...) -> Self: ...

    @overload
    @classmethod
    def from_scipy(cls, matrix: Any, *, validate: bool = ..., return_order: bool) -> Any: ...

    @classmethod
    def from_scipy(cls, matrix: Any, *, validate: bool = True, return_order: bool = False) -> Any:
        """Convert a SciPy sparse matrix or array of any format, as `CSR(matrix)` does.

        Entries are in the order that SciPy's tocsr gives them: by row, of other formats than CSR also by
        column, and duplicates of a COO matrix are added up. With return_order as in `from_coo`, of csr, csc
        and coo without duplicates.
        """
        return convert.built(cls, foreign.parts_of_scipy(matrix, return_order), validate, return_order)

    @overload
    @classmethod
    def from_coo(
        cls, row: Any, col: Any = ..., data: Any = ..., *, shape: tuple[int, int], validate: bool = ...
    ) -> Self: ...

    @overload
    @classmethod
    def from_coo(cls, *entries: Any, return_order: bool, **options: Any) -> Any: ...

    @classmethod
    def from_coo(
        cls,
        row: Any,
        col: Any = None,
        data: Any = None,
        *,
        shape: tuple[int, int],
        validate: bool = True,
        return_order: bool = False,
    ) -> Any:
        """Sort entries given in any order by row: row, col, data or, as in SciPy, (data, (row, col)).

        `A.data[k]` is not `data[k]`: entries are sorted by row, those of a row keep their order, and
        duplicates stay. Delays and all else that belongs to entries have to be sorted with them:
        `A, order = CSR.from_coo(pre, post, w, shape=..., return_order=True)`, then `delays[order]`.
        Works under jit.

        Args:
            return_order: return `(matrix, order)`; order: (nse,), int32, or int64 where nse is too large for
                it: entry k of the matrix is entry order[k] of what was given.
        """
        parts = convert.parts_of_coo(*foreign.coordinates(row, col, data), shape, validate)
        return convert.built(cls, parts, validate, return_order)

    @overload
    @classmethod
    def from_bcoo(cls, matrix: Any, *, validate: bool = ...) -> Self: ...

    @overload
    @classmethod
    def from_bcoo(cls, matrix: Any, *, validate: bool = ..., return_order: bool) -> Any: ...

    @classmethod
    def from_bcoo(cls, matrix: Any, *, validate: bool = True, return_order: bool = False) -> Any:
        """Convert a `jax.experimental.sparse.BCOO` without batch and dense axes, as `CSR(matrix)` does.

        Entries are sorted by row, and padding is left out where it is known; return_order as in `from_coo`.
        """
        return convert.built(cls, foreign.parts_of_bcoo(matrix, validate), validate, return_order)

    @overload
    @classmethod
    def from_bcsr(cls, matrix: Any, *, validate: bool = ...) -> Self: ...

    @overload
    @classmethod
    def from_bcsr(cls, matrix: Any, *, validate: bool = ..., return_order: bool) -> Any: ...

    @classmethod
    def from_bcsr(cls, matrix: Any, *, validate: bool = True, return_order: bool = False) -> Any:
        """Convert a `jax.experimental.sparse.BCSR` without batch and dense axes, as `CSR(matrix)` does.

        Entries keep their order, and padding is left out where it is known; return_order as in `from_coo`.
        """
        return convert.built(cls, foreign.parts_of_bcsr(matrix, validate), validate, return_order)

    @classmethod
    def from_dense(cls, matrix: ArrayLike, *, nse: int | None = None) -> Self:
        """Convert the elements that are not zero, sorted by row and column.

        Under jit give `nse`, the most that there can be; if there are more, the weights, unless they are
        integers, are NaN, and the last elements are missing; `validate` raises. Attributes in a dense matrix
        D, such as delays: `D[A.to_coo()[1]]` has them in the order of the entries.
        """
        return cls(convert.parts_of_dense(matrix, nse))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, validate: bool = True) -> Self:
        """Read a Matrix Market file (.mtx, .mtx.gz), or a .npz that `scipy.sparse.save_npz` wrote.

        Entries are sorted by row; attributes go to a file of their own: `A.with_data(delays).save(path)`.
        """
        return cls(foreign.parts_of_file(path), validate=validate)

    eye = classmethod(coordinates.eye)
    random = classmethod(draw.random)
    to_coo = coordinates.to_coo
    row_lengths = property(coordinates.row_lengths)
    sum = coordinates.sum_along
    diagonal = coordinates.diagonal
    add_diagonal = coordinates.add_diagonal
    rows = selection.rows
    allclose = union.allclose
    matmul = spgemm.matmul
    solve = solvers.solve
    compact = compact.compacted

    __array__ = arithmetic.no_array(
        "use A.todense() for a dense array, CSR(S) @ A for a product with a sparse matrix S, and A @ x for "
        "np.dot(A, x)"
    )

    __getitem__ = selection.at_key

    def __matmul__(self, other: Any) -> Any:
        return spgemm.matmul(self, other) if isinstance(other, CSR) else super().__matmul__(other)

    def __add__(self, other: Any) -> Self:
        return union.added(operator.add, self, other)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Self:
        return union.multiplied(self, other) if isinstance(other, CSR) else super().__mul__(other)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Self:
        return union.added(operator.sub, self, other)


register_format(CSR, LEAVES, "event_ops.CSR")
