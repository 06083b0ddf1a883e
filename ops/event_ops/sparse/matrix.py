"""`Matrix`: a sparse matrix of any format: a pytree with products, arithmetic and a transpose."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog.csr_todense.op import csr_todense
from event_ops.checks.arrays import as_array
from event_ops.checks.csr import checkify_copy, event_weights
from event_ops.sparse import arithmetic, foreign, plasticity, products, rewiring
from event_ops.sparse.events import Events
from event_ops.sparse.products import ByColumn, brought_up_to_date, by_column, reweighted
from event_ops.sparse.pytree import register

# Name -> format: by it formats make matrices of each other, whose modules would need each other otherwise.
FORMATS: Final[dict[str, type[Any]]] = {}


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Readable:
    """A matrix that is stored once, and read as it is or transposed: its shape, and products with it."""

    stored_shape: tuple[int, int]
    transposed: bool
    ndim: ClassVar[int] = 2
    """2, as of any matrix."""

    def _changed(self, **changes: Any) -> Self:
        # Not by __init__, which would check again: leaves may be traced, or no arrays at all.
        new = object.__new__(type(self))
        vars(new).update(vars(self) | changes)
        return new

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = self.stored_shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def T(self) -> Self:
        """The transpose: the same arrays, read with rows and columns swapped."""
        return self._changed(transposed=not self.transposed)

    @property
    def nse(self) -> int:
        """The number of stored entries."""
        raise NotImplementedError

    def _as_csr(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return (data, indices, indptr) of the same entries, row by row as they are stored."""
        raise NotImplementedError

    def _stored_dense(self) -> jax.Array:
        return csr_todense(*self._as_csr(), shape=self.stored_shape)

    def todense(self) -> jax.Array:
        """Return a dense array; duplicate entries add up."""
        D = self._stored_dense()
        return D.T if self.transposed else D

    # SciPy's name for it; the array is a JAX array.
    toarray = todense

    __eq__ = arithmetic.no_equality(
        "A.tocsr().allclose(B.tocsr()) for their elements, jnp.array_equal(A.indptr, B.indptr) for arrays"
    )
    __hash__ = object.__hash__

    def matvec(self, x: Any) -> jax.Array:
        """Return A @ x, for functions of SciPy or JAX that take a matrix as its products."""
        return self @ x

    def rmatvec(self, x: Any) -> jax.Array:
        """Return A.T.conj() @ x, as SciPy's `LinearOperator` does."""
        return jnp.conj(self.T @ jnp.conj(as_array(x)))

    def __matmul__(self, other: Any) -> Any:
        return products.times(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return products.before(other, self)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Matrix(Readable):
    """A sparse matrix, of which a format adds how its entries are stored.

    A format has the methods that raise NotImplementedError here, and an `__init__` of its own.
    """

    data: jax.Array
    indices: jax.Array
    by_column: ByColumn | None

    def _structure(self) -> tuple[jax.Array, ...]:
        """Return the arrays that say where entries are."""
        raise NotImplementedError

    def _check(self, data: jax.Array) -> None:
        """Raise unless these weights fit the structure, as far as shapes and dtypes tell."""
        raise NotImplementedError

    def _product(self, data: jax.Array, x: jax.Array) -> jax.Array:
        """Return A @ x for a vector or matrix x of the dtype of `data`, which may be one weight."""
        raise NotImplementedError

    def _event_product(self, events: Events) -> jax.Array:
        """Return A @ events, for bools or numbers of the dtype of the weights, without a plan."""
        raise NotImplementedError

    @property
    def nnz(self) -> int:
        """The number of stored entries, with stored zeros and free slots: SciPy's name for `nse`."""
        return self.nse

    @property
    def dtype(self) -> Any:
        """The dtype of the weights."""
        return self.data.dtype

    def _check_values(self) -> None:
        """Check the values of the structure by `checkify_values`."""
        raise NotImplementedError

    def check(self) -> None:
        """Check the values of structure and plan, with `jax.experimental.checkify` also under jit."""
        self._check_values()
        plan = self.by_column
        if plan and plan.weights is not None:
            checkify_copy(plan.weights, self.data.reshape(-1), plan.permutation)

    def with_data(self, data: ArrayLike) -> Self:
        """Return the matrix with new weights, one for each entry or one for all, and its plan updated."""
        weights = as_array(event_weights(data, self.indices, self.dtype))
        self._check(weights)
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
        _, indices, indptr = self._as_csr()
        plan = by_column(indices, indptr, self.stored_shape)
        return self._changed(by_column=reweighted(plan, self.data) if weights else plan)

    def repeated_data(self) -> jax.Array:
        """Return the weights, one for each entry."""
        return self.data if self.data.ndim else jnp.broadcast_to(self.data, self.indices.shape)

    to_scipy = foreign.to_scipy
    to_bcsr = foreign.to_bcsr
    save = foreign.save
    same_structure = arithmetic.same_structure
    _times_array = products.times_array
    _times_events = products.times_events
    stdp_on_pre = plasticity.stdp_on_pre
    stdp_on_post = plasticity.stdp_on_post
    on_pre = plasticity.on_pre
    on_post = plasticity.on_post
    normalize = plasticity.normalize
    prune = rewiring.prune
    rewire = rewiring.rewire
    free = property(rewiring.free)

    # NumPy's operators and ufuncs call this; JAX's arrays leave their operators to those below.
    __array_ufunc__ = arithmetic.apply_ufunc
    __array__ = arithmetic.no_array(
        "use A.todense() for a dense array, A.to_scipy() for a product with a sparse matrix, and A @ x for "
        "np.dot(A, x)"
    )

    def dot(self, other: Any) -> jax.Array:
        """Return A @ other: SciPy's name for it."""
        return self @ other

    def __mul__(self, x: ArrayLike) -> Self:
        return arithmetic.scaled(operator.mul, self, x, fill=0)

    __rmul__ = __mul__

    def multiply(self, other: Any) -> Self:
        """Return A * other, element by element: SciPy's name for it."""
        return self * other

    def __truediv__(self, x: ArrayLike) -> Self:
        return arithmetic.scaled(operator.truediv, self, x, fill=1)

    def __neg__(self) -> Self:
        return self.with_data(-self.data)

    def __abs__(self) -> Self:
        weights = arithmetic.without_sign(*self._as_csr())
        return self.with_data(weights.reshape(self.data.shape))

    def __add__(self, other: Any) -> Self:
        return arithmetic.added(operator.add, self, other)

    def __sub__(self, other: Any) -> Self:
        return arithmetic.added(operator.sub, self, other)


def register_format(kind: type[Readable], leaves: Sequence[str], name: str) -> None:
    """Register a format as a pytree with these leaves, which exported programs call `name`."""
    FORMATS[name] = kind
    register(kind, leaves, ("stored_shape", "transposed"), name)
