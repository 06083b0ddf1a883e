"""`CSR`: a sparse matrix as a pytree. Its methods call the functions of the modules beside this one."""

from __future__ import annotations

import json
import operator
import os
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog.csr_todense.op import csr_todense
from event_ops.checks.arrays import NUMBERS, as_array
from event_ops.checks.csr import check_csr, checkify_copy, checkify_structure, event_weights
from event_ops.sparse import (
    arithmetic,
    convert,
    coordinates,
    diagonals,
    draw,
    plasticity,
    products,
    selection,
    solvers,
    spgemm,
    union,
)
from event_ops.sparse.plan import ByColumn, brought_up_to_date, by_column, reweighted
from event_ops.sparse.pytree import register

LEAVES = ("data", "indices", "indptr", "by_column")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CSR:
    """`A[i, indices[k]] += data[k]` for the entries k of row i: a sparse matrix in the CSR format.

    A pytree: data, indices and indptr are leaves, the shape is static; so it can be an argument or a result
    of any transformed function. `A @ v`, `v @ A`, `A @ B`, `B @ A` are products, of more than two axes as in
    jnp.matmul; dtypes are promoted as in JAX. `A @ Events(x)` and `Events(x) @ A` cost what the active
    elements of x cost; bools without `Events` are numbers, 0 and 1. A number or an array that broadcasts to
    the matrix multiplies or divides its weights. Matrices add, subtract and multiply: `A + B`, `A @ B`.

    Gradients: `jax.grad(lambda w: loss(A.with_data(w)))(A.data)`. With respect to a whole matrix,
    `jax.grad(loss, allow_int=True)(A).data`: jax.grad asks for allow_int, as the structure is integers.

    Args:
        data: (nse,), the weights; any real, complex or integer dtype of 32 or 64 bits (integers: also 8, 16).
            Or one weight for all entries: 0-d, (1,) or a number.
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

    data: jax.Array
    indices: jax.Array
    indptr: jax.Array
    by_column: ByColumn | None
    stored_shape: tuple[int, int]
    transposed: bool
    ndim: ClassVar[int] = 2
    """2, as of any matrix."""

    def __init__(
        self, data: Any, indices: Any = None, indptr: Any = None, *, shape: Any = None, validate: bool = True
    ) -> None:
        parts = convert.parts_given(data, indices, indptr, shape, validate)
        data, indices, indptr, shape = convert.checked(parts, validate)
        vars(self).update(data=data, indices=indices, indptr=indptr)
        vars(self).update(by_column=None, stored_shape=shape, transposed=False)

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
        """The number of stored entries, stored zeros included: SciPy's name for `nse`."""
        return self.nse

    @property
    def dtype(self) -> Any:
        """The dtype of the weights."""
        return self.data.dtype

    @property
    def T(self) -> Self:
        """The transpose: the same three arrays, read with rows and columns swapped."""
        return self._changed(transposed=not self.transposed)

    def __repr__(self) -> str:
        return convert.text_of(self)

    def with_data(self, data: ArrayLike) -> Self:
        """Return the matrix with other weights, (nse,) or one for all, and its plan updated."""
        weights = event_weights(data, self.indices, self.dtype)
        check_csr(weights, self.indices, self.indptr, self.stored_shape, NUMBERS)
        plan = brought_up_to_date(self.by_column, self.data, weights)
        return self._changed(data=weights, by_column=plan)

    def astype(self, dtype: Any) -> Self:
        """Return the matrix with weights of another dtype."""
        return self.with_data(self.data.astype(dtype))

    def plan(self, *, weights: bool = True) -> Self:
        """Return the matrix with its entries stored by column too, so that `A @ Events(x)` follows events.

        Without a plan, that product looks at every entry; `Events(x) @ A` never does. A plan costs one sort
        and twice the memory; `with_data` needs no further sort. Change planned weights by with_data, not leaf
        by leaf: the gradient with respect to the whole pytree is in the leaf `data` alone. A plan with
        weights=False stores only where the entries are: for `stdp_on_post` at each step of a loop, which then
        has no copy of the weights to update; `A @ Events(x)` looks at every entry again.
        """
        plan = by_column(self.indices, self.indptr, self.stored_shape)
        return self._changed(by_column=reweighted(plan, self.data) if weights else plan)

    def tocsr(self) -> Self:
        """Return the matrix not read transposed: sort its entries if it is, or take them from its plan."""
        if not self.transposed:
            return self
        plan = self.by_column or by_column(self.indices, self.indptr, self.stored_shape)
        indices, indptr, permutation, _ = plan
        data = self.data[permutation] if self.data.ndim else self.data
        return type(self)(data, indices, indptr, shape=self.shape, validate=False)

    def todense(self) -> jax.Array:
        """Return a dense array; duplicate entries add up."""
        D = csr_todense(self.data, self.indices, self.indptr, shape=self.stored_shape)
        return D.T if self.transposed else D

    toarray = todense  # SciPy's name for it; the array is a JAX array

    same_structure = arithmetic.same_structure

    def check(self) -> None:
        """Check the values of indices, indptr and plan, with `jax.experimental.checkify` also under jit."""
        checkify_structure(self.indices, self.indptr, self.stored_shape[1])
        if self.by_column and self.by_column.weights is not None:
            checkify_copy(self.by_column.weights, self.data, self.by_column.permutation)

    def repeated_data(self) -> jax.Array:
        """Return the weights, one for each entry."""
        return self.data if self.data.ndim else jnp.broadcast_to(self.data, (self.nse,))

    @classmethod
    def from_scipy(cls, matrix: Any, *, validate: bool = True) -> Self:
        """Convert a SciPy sparse matrix or array of any format, as `CSR(matrix)` does."""
        return cls(convert.parts_of_scipy(matrix), validate=validate)

    to_scipy = convert.scipy_of

    @classmethod
    def from_coo(
        cls, row: Any, col: Any = None, data: Any = None, *, shape: tuple[int, int], validate: bool = True
    ) -> Self:
        """Make a matrix of entries in any order: row, col, data or, as in SciPy, (data, (row, col)).

        Works under jit.
        """
        row, col, data = convert.coordinates(row, col, data)
        return cls(convert.parts_of_coo(row, col, data, shape, validate), validate=validate)

    @classmethod
    def from_bcoo(cls, matrix: Any, *, validate: bool = True) -> Self:
        """Convert a `jax.experimental.sparse.BCOO` without batch and dense axes, as `CSR(matrix)` does."""
        return cls(convert.parts_of_bcoo(matrix, validate), validate=validate)

    @classmethod
    def from_bcsr(cls, matrix: Any, *, validate: bool = True) -> Self:
        """Convert a `jax.experimental.sparse.BCSR` without batch and dense axes, as `CSR(matrix)` does."""
        return cls(convert.parts_of_bcsr(matrix, validate), validate=validate)

    to_bcsr = convert.bcsr_of

    @classmethod
    def from_dense(cls, matrix: ArrayLike, *, nse: int | None = None) -> Self:
        """Convert the elements that are not zero; under jit give `nse`, the most that there can be."""
        return cls(convert.parts_of_dense(matrix, nse))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, validate: bool = True) -> Self:
        """Read a Matrix Market file (.mtx, .mtx.gz), or a .npz that `scipy.sparse.save_npz` wrote."""
        return cls(convert.parts_of_file(path), validate=validate)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Matrix Market file (.mtx), or a .npz that `scipy.sparse.load_npz` reads."""
        convert.write_file(path, self)

    eye = classmethod(diagonals.eye)
    random = classmethod(draw.random)
    to_coo = coordinates.to_coo
    row_lengths = property(coordinates.row_lengths)
    sum = coordinates.sum_along
    diagonal = diagonals.diagonal
    add_diagonal = diagonals.add_diagonal
    rows = selection.rows
    allclose = union.allclose
    matmul = spgemm.matmul
    solve = solvers.solve
    stdp_on_pre = plasticity.stdp_on_pre
    stdp_on_post = plasticity.stdp_on_post

    # NumPy's operators and ufuncs call this; JAX's arrays leave their operators to those below.
    __array_ufunc__ = arithmetic.apply_ufunc
    __array__ = arithmetic.no_array(
        "use A.todense() for a dense array, CSR(S) @ A for a product with a sparse matrix S, and A @ x for "
        "np.dot(A, x)"
    )

    __getitem__ = selection.at_key
    __eq__ = union.no_equality
    __hash__ = object.__hash__

    def __matmul__(self, other: Any) -> Any:
        return spgemm.matmul(self, other) if isinstance(other, CSR) else products.times(self, other)

    def __rmatmul__(self, other: Any) -> jax.Array:
        return products.before(other, self)

    def dot(self, other: Any) -> Any:
        """Return A @ other: SciPy's name for it."""
        return self @ other

    def matvec(self, x: Any) -> jax.Array:
        """Return A @ x, for functions of SciPy or JAX that take a matrix as its products."""
        return self @ x

    def rmatvec(self, x: Any) -> jax.Array:
        """Return A.T.conj() @ x, as SciPy's `LinearOperator` does."""
        return jnp.conj(self.T @ jnp.conj(as_array(x)))

    def __mul__(self, x: ArrayLike) -> Self:
        return arithmetic.scaled(operator.mul, self, x, fill=0)

    __rmul__ = __mul__

    def __truediv__(self, x: ArrayLike) -> Self:
        return arithmetic.scaled(operator.truediv, self, x, fill=1)

    def __neg__(self) -> Self:
        return self.with_data(-self.data)

    def __abs__(self) -> Self:
        return self.with_data(arithmetic.without_sign(self.data, self.indices, self.indptr))

    def __add__(self, other: CSR | int) -> Self:
        return union.added(operator.add, self, other)

    __radd__ = __add__

    def __sub__(self, other: CSR | int) -> Self:
        return union.added(operator.sub, self, other)


def _read(text: bytes) -> tuple[Any, ...]:
    shape, transposed = json.loads(text)
    return tuple(shape), transposed


register(
    CSR,
    LEAVES,
    ("stored_shape", "transposed"),
    "event_ops.CSR",
    write=lambda static: json.dumps(static).encode(),
    read=_read,
)
