"""Products of a sparse matrix: check the operand, promote dtypes, and plans for products with events."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.custom_derivatives import SymbolicZero

from event_ops.catalog.csr_event_matmat.op import csr_event_matmat
from event_ops.catalog.csr_event_matvec.op import csr_event_matvec
from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS, HALVES, as_array, summed_in
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import values_at
from event_ops.sparse.arithmetic import is_sparse
from event_ops.sparse.events import Events


def times(A: Any, x: Any) -> jax.Array:
    """Return A @ x for a sparse A."""
    check_factor(x, A.shape, left=False)
    return _product(A, x if isinstance(x, Events) else as_array(x))


def before(x: Any, A: Any) -> jax.Array:
    """Return x @ A for a sparse A: the product with A.T, turned."""
    check_factor(x, A.shape, left=True)
    return _turned(_product(A.T, _turned(x if isinstance(x, Events) else as_array(x))))


def _product(A: Any, x: Any) -> jax.Array:
    if not isinstance(x, Events):
        return _over_matrices(A._times_array, x)
    return _over_matrices(lambda values: A._times_events(Events(values, x.encoding)), x.values)


def times_array(A: Any, x: jax.Array) -> jax.Array:
    """Return A @ x for a vector or a matrix x and a format whose weights are its leaf `data`."""
    if A.dtype not in HALVES:
        return A._product(*promoted(A.data, x))
    dtype = promoted_dtype(A.data, x)
    if dtype in (*HALVES, "float32"):  # no copy of the weights
        return A._product(A.data, x.astype(jnp.float32)).astype(dtype)
    return A._product(A.data.astype(dtype), x.astype(dtype))


def times_events(A: Any, events: Events) -> jax.Array:
    """Return A @ events for a vector of events or a matrix of them, and a format with the leaf `data`."""
    if events.values.ndim == 2 and events.encoding != "flags":
        if events.encoding != "counts":
            return one_by_one(A, events.values, events.encoding)
        events = Events(events.values.astype(A.dtype if A.dtype in FLOATS else float))
    kind = events.values.dtype
    if kind != summed_in(A.data) and kind in FLOATS and not jnp.iscomplexobj(A.data):
        dtype = promoted_dtype(A.data, events.values)
        return times_events(A.astype(dtype), Events(events.values.astype(dtype)))
    plan = A.by_column
    if plan is None or A.transposed or (plan.weights is None and A.data.ndim):
        return A._event_product(events)
    data, *structure = A._as_csr()
    if plan.weights is None:
        rows, columns = A.stored_shape
        return event_product((data, plan.indices, plan.indptr), events, (columns, rows), transpose=True)
    return _planned(A.stored_shape, data, events, structure, plan)


@contract(indices=contracts.columns_or_padding, indptr=contracts.ends_of("indices"))
def matrix_structure(
    indices: jax.Array, indptr: jax.Array, *, shape: tuple[int, int]
) -> tuple[jax.Array, jax.Array]:
    """Return the structure of a matrix, of `shape` as it is stored, which the validate mode looks at."""
    return indices, indptr


def one_by_one(A: Any, values: jax.Array, encoding: str) -> jax.Array:
    """Return A @ events for a matrix of events, whose columns are taken one by one."""
    return jax.vmap(lambda x: A._times_events(Events(x, encoding)), -1, -1)(values)


def check_factor(x: Any, shape: tuple[int, int], *, left: bool) -> None:
    """Raise TypeError for a sparse x, ValueError unless A @ x exists for A of `shape`, or x @ A if `left`."""
    if is_sparse(x):
        raise TypeError(
            f"got a {type(x).__name__} as a factor; a product of two sparse matrices is that of two CSRs, "
            "A @ CSR(B) or CSR(B) @ A; use B.todense() for a dense one"
        )
    if not isinstance(x, Events):
        _check_sizes(np.shape(x), shape, left)
    elif x.encoding in ("flags", "counts"):
        _check_sizes(x.values.shape, shape, left)


def _check_sizes(sizes: tuple[int, ...], shape: tuple[int, int], left: bool) -> None:
    size, other = shape if left else shape[::-1]
    axis = -1 if left or len(sizes) == 1 else -2
    if sizes and sizes[axis] == size:
        return
    product, per = ("x @ A", "row") if left else ("A @ x", "column")
    expected = f"({size},) or (..., n, {size})" if left else f"({size},) or (..., {size}, n)"
    hint = "; a product with a number is A * x" if not sizes else ""
    if sizes and sizes[axis] == other:
        hint = f"; it fits {product.replace('A', 'A.T')}"
    raise ValueError(
        f"x has shape {sizes}; expected {expected}, one element per {per} of A, for {product} with A of "
        f"shape {shape}{hint}"
    )


def promoted(data: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return weights and operand in the dtype to which JAX promotes both."""
    if data.dtype == x.dtype:
        return data, x
    dtype = promoted_dtype(data, x)
    return data.astype(dtype), x.astype(dtype)


def promoted_dtype(data: jax.Array, x: jax.Array) -> Any:
    """Return the dtype to which JAX promotes weights and operand; raise ValueError where it does not."""
    try:
        return jnp.result_type(data, x)
    except ValueError as error:
        if x.dtype == bool:
            error.add_note("A @ Events(x) takes bools as they are: the product over those that are True.")
        raise


def _turned(x: Any) -> Any:
    """Return x with its last two axes swapped; a vector as it is."""
    if isinstance(x, Events):
        return x.T
    return x if x.ndim == 1 else x.mT


def _over_matrices(product: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """Multiply each matrix in the last two axes of x, as jnp.matmul does, by one product."""
    if x.ndim <= 2:
        return product(x)
    # All matrices side by side, so that the entries of A are read once.
    columns = jnp.moveaxis(x, -2, 0)
    Y = product(columns.reshape(columns.shape[0], math.prod(columns.shape[1:])))
    return jnp.moveaxis(Y.reshape(Y.shape[0], *columns.shape[1:]), 0, -2)


# The copy stays, although event products take a permutation, since they then read weights at random: with it
# they took 0.33 of the time for 100,000 neurons with 100 entries each and 1 % active, 0.72 for 4000 with 80,
# in turns. `nox -s bench -- brainevent` has both: our "BinaryArray @ TCSR" and our "binary_csrmv_indexed".
class ByColumn(NamedTuple):
    """The result of `csr_tocsc`, and a copy of the weights in its order; None if none is stored or needed."""

    indices: jax.Array
    indptr: jax.Array
    permutation: jax.Array
    weights: jax.Array | None


export.register_namedtuple_serialization(ByColumn, serialized_name="event_ops.csr_plan.ByColumn")


def by_column(indices: jax.Array, indptr: jax.Array, shape: tuple[int, int]) -> ByColumn:
    """Sort the entries of a matrix by column; store no weights."""
    return ByColumn(*csr_tocsc(indices, indptr, shape=shape), None)


def reweighted(plan: ByColumn, data: jax.Array) -> ByColumn:
    """Return the plan with a copy of the weights `data`, for which nothing is sorted."""
    return plan._replace(weights=values_at(data.reshape(-1), plan.permutation) if data.ndim else None)


def brought_up_to_date(plan: ByColumn | None, old: jax.Array, new: jax.Array) -> ByColumn | None:
    """Return a plan after a change of weights: with a copy of the new ones, unless it was to have none."""
    if plan is None or (plan.weights is None and old.ndim):
        return plan
    return reweighted(plan, new)


def event_product(matrix: Any, events: Events, shape: tuple[int, int], transpose: bool = False) -> jax.Array:
    """Return A @ events or A.T @ events, for a vector of events or a matrix of them; matrix: its arrays."""
    data, indices, indptr = matrix
    arrays = data, indices, indptr, events.values
    if events.values.ndim == 2:
        return csr_event_matmat(*arrays, shape=shape, transpose=transpose)
    return csr_event_matvec(*arrays, shape=shape, transpose=transpose, encoding=events.encoding)


# The value is computed from the plan's copy of the weights, derivatives from the weights themselves: so
# they are right, and counted once, wherever the plan was made.
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _planned(shape: tuple[int, int], data: Any, events: Events, structure: Any, plan: ByColumn) -> jax.Array:
    """Return A @ events from the columns of active events alone."""
    by_column = plan.weights, plan.indices, plan.indptr
    return event_product(by_column, events, (shape[1], shape[0]), transpose=True)


@partial(_planned.defjvp, symbolic_zeros=True)
def _jvp(shape: tuple[int, int], primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    data, events, structure, plan = primals
    y = _planned(shape, *primals)
    dy = jnp.zeros_like(y)
    if not isinstance(tangents[0], SymbolicZero):
        dy += event_product((tangents[0], *structure), events, shape)
    if not isinstance(tangents[1].values, SymbolicZero):
        dy += _planned(shape, data, tangents[1], structure, plan)
    return y, dy
