"""`CSR`: a sparse matrix as a pytree, with its products and the arithmetic that keeps its structure."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax import export
from jax.tree_util import GetAttrKey
from jax.typing import ArrayLike

from event_ops.catalog.csr_matmat.op import csr_matmat
from event_ops.catalog.csr_matvec.op import csr_matvec
from event_ops.checks.arrays import FLOATS, as_array
from event_ops.sparse.arithmetic import apply_ufunc, at_entries, is_sparse, no_array, refuse, without_sign
from event_ops.sparse.csr_plasticity import CSRPlasticity
from event_ops.sparse.events import Events
from event_ops.sparse.operands import operand, over_matrices, promoted, turned
from event_ops.sparse.plan import ByColumn, event_product, planned_event_product

LEAVES = ("data", "indices", "indptr", "by_column")


class CSR(CSRPlasticity):
    """`A[i, indices[k]] += data[k]` for the entries k of row i: a sparse matrix in the CSR format.

    A pytree: data, indices and indptr are leaves, the shape is static; so it can be an argument or a result
    of any transformed function. `A @ v`, `v @ A`, `A @ B`, `B @ A` are products, of more than two axes as in
    jnp.matmul; dtypes are promoted as in JAX. `A @ Events(x)` and `Events(x) @ A` cost what the active
    elements of x cost; bools without `Events` are numbers, 0 and 1. A number or an array that broadcasts to
    the matrix multiplies or divides its weights; matrices of one structure add.

    Gradients: `jax.grad(lambda w: loss(A.with_data(w)))(A.data)`. With respect to a whole matrix,
    `jax.grad(loss, allow_int=True)(A).data`: the structure is of integers, for which jax.grad wants that.

    Args:
        data: (nse,), the weights; any real, complex or integer dtype of 32 or 64 bits (integers: also 8, 16).
            Or one weight for all entries: 0-d, (1,) or a number.
            Or all of the matrix, without indices and indptr: (data, indices, indptr) or (data, (row, col)),
            each with `shape`; or a sparse matrix of SciPy, a BCSR, BCOO or CSR; or a dense matrix.
        indices: (nse,), the column of each weight; int32, int64 or unsigned; unsorted, duplicates add up.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        shape: (rows, columns), static.
        validate: look at the values of indices and indptr, unless they are traced: `check` is for those.

    Raises:
        TypeError: a dtype that is not taken, or no matrix.
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

    # NumPy's operators and ufuncs ask this; JAX's leave the answer to the operators below.
    __array_ufunc__ = apply_ufunc
    __array__ = no_array(
        "use A.todense() for a dense array, A.to_scipy() for a product with a sparse matrix, and A @ x for "
        "np.dot(A, x)"
    )

    def __matmul__(self, other: Any) -> jax.Array:
        return self._times(operand(other, self.shape, left=False))

    def __rmatmul__(self, other: Any) -> jax.Array:
        return turned(self.T._times(turned(operand(other, self.shape, left=True))))

    def dot(self, other: Any) -> jax.Array:
        """A @ other, as SciPy has it."""
        return self @ other

    def matvec(self, x: Any) -> jax.Array:
        """A @ x: what a function that asks for a matrix by its products calls, of SciPy or JAX."""
        return self @ x

    def rmatvec(self, x: Any) -> jax.Array:
        """A.T.conj() @ x, as SciPy's `LinearOperator` has it."""
        return jnp.conj(self.T @ jnp.conj(as_array(x)))

    def _times(self, x: Any) -> jax.Array:
        if not isinstance(x, Events):
            return over_matrices(self._times_array, x)
        if x.values.ndim <= 2:
            return self._times_events(x)
        return over_matrices(lambda values: self._times_events(Events(values)), x.values)

    def _times_array(self, x: jax.Array) -> jax.Array:
        data, x = promoted(self.repeated_data(), x)
        product = csr_matvec if x.ndim == 1 else csr_matmat
        return product(data, self.indices, self.indptr, x, **self._options())

    def _times_events(self, events: Events) -> jax.Array:
        kind = events.values.dtype
        if kind != self.dtype and kind in FLOATS and not jnp.iscomplexobj(self.data):
            _, values = promoted(self.data, events.values)
            return self.astype(values.dtype)._times_events(Events(values))
        arrays = self.data, self.indices, self.indptr, events
        if self.by_column and not self.transposed:
            return planned_event_product(*arrays, self.stored_shape, self.by_column)
        return event_product(*arrays, **self._options())

    def _options(self) -> dict[str, Any]:
        return {"shape": self.stored_shape, "transpose": self.transposed}

    def _scaled(self, how: Callable[..., Any], x: Any, fill: int) -> CSR:
        if is_sparse(x):
            return refuse("Multiplying or dividing two sparse matrices element by element", "to_scipy()")
        return self.with_data(
            how(self.data, at_entries(x, self.indices, self.indptr, fill, **self._options()))
        )

    def __mul__(self, x: ArrayLike) -> CSR:
        return self._scaled(operator.mul, x, 0)

    __rmul__ = __mul__

    def __truediv__(self, x: ArrayLike) -> CSR:
        return self._scaled(operator.truediv, x, 1)

    def __neg__(self) -> CSR:
        return self.with_data(-self.data)

    def __abs__(self) -> CSR:
        return self.with_data(without_sign(self.data, self.indices, self.indptr))

    def _added(self, how: Callable[..., Any], other: Any) -> CSR:
        if not isinstance(other, CSR):
            return refuse("Adding anything but a CSR of the same structure to a CSR", "A.todense() + x")
        if not self.same_structure(other):
            return refuse("A sum of CSR matrices of different structure", "A.to_scipy() + B.to_scipy()")
        return self.with_data(how(self.data, other.data))

    def __add__(self, other: CSR) -> CSR:
        return self._added(operator.add, other)

    def __sub__(self, other: CSR) -> CSR:
        return self._added(operator.sub, other)


def _flatten(A: CSR) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return (A.data, A.indices, A.indptr, A.by_column), (A.stored_shape, A.transposed)


def _flatten_with_keys(A: CSR) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    children, static = _flatten(A)
    return tuple(zip(map(GetAttrKey, LEAVES), children, strict=True)), static


def _unflatten(static: tuple[Any, ...], children: Iterable[Any]) -> CSR:
    A = object.__new__(CSR)
    vars(A).update(zip(LEAVES, children, strict=True))  # unseen: JAX passes more than arrays
    vars(A).update(stored_shape=static[0], transposed=static[1])
    return A


def _parse(text: bytes | bytearray) -> tuple[Any, ...]:
    shape, transposed = json.loads(bytes(text))
    return tuple(shape), transposed


jax.tree_util.register_pytree_with_keys(CSR, _flatten_with_keys, _unflatten, _flatten)
export.register_pytree_node_serialization(
    CSR,
    serialized_name="event_ops.CSR",
    serialize_auxdata=lambda static: json.dumps(static).encode(),
    deserialize_auxdata=_parse,
)
export.register_namedtuple_serialization(ByColumn, serialized_name="event_ops.csr_plan.ByColumn")
