"""Synapses that go and come: a sparse matrix whose slots become free, and are filled."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog.csr_rewire.op import csr_rewire
from event_ops.checks.arrays import as_array, check_dtype, check_same_dtype, check_shape, is_inside
from event_ops.checks.csr import check_numbers
from event_ops.checks.inputs import in_dtype
from event_ops.sparse.products import brought_up_to_date, by_column

Matrix = TypeVar("Matrix", bound=Any)


def free(A: Any) -> jax.Array:
    """Return which slots hold no synapse, as their index is no column; shaped as `indices`."""
    return ~is_inside(A.indices, A.stored_shape[1])


def prune(A: Matrix, pruned: ArrayLike) -> Matrix:
    """Return the matrix without the flagged synapses: their slots are free, for `rewire` to fill.

    Shapes and the order of entries stay, so that it works in a loop under jit. Products, events and
    plasticity pass free slots over; their weights are 0, unless one weight is for all. They count in nse, nnz
    and row_lengths; to_coo, save, to_scipy, to_bcsr and compact leave them out, and `CSR(A)` is the matrix
    without them. A plan is made anew, by a sort: of several changes in
    one program under jit, only the last one sorts.

    Args:
        pruned: bool, shaped as `indices`.

    Raises:
        TypeError: flags that are not bool.
        ValueError: flags of another shape, or an index dtype too small for a free slot's index, `columns`.
    """
    flags = _flags("pruned", pruned, A)
    columns = A.stored_shape[1]
    check_numbers("indices", A.indices, (columns,), f"{columns}, the index of a free slot")
    data = jnp.where(flags, jnp.zeros((), A.dtype), A.data) if A.data.ndim else A.data
    return _restructured(A, data, jnp.where(flags, jnp.asarray(columns, A.indices.dtype), A.indices))


def rewire(
    A: Matrix,
    rewired: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    seed: ArrayLike | None = None,
    step: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    allow_autapses: bool = True,
    allow_multapses: bool = True,
    backend: str | None = None,
) -> Matrix:
    """Return the matrix with the flagged slots at new columns: free slots become synapses, synapses move.

    As the operator `csr_rewire` does, which says how columns are drawn. Every row as it is stored keeps its
    slots: of `A.T`, every column does. Shapes stay, so that it works in a loop under jit; an attribute of a
    slot stays there, also where it is of another synapse now. A plan is made anew, as by `prune`.

    Args:
        rewired: bool, shaped as `indices`.
        weights: of the flagged slots: a number, or an array shaped as `indices`; dtype of the weights. None:
            a slot keeps the weight that it has, which of a pruned one is 0.
        targets: shaped as `indices`, columns: instead of random ones, and of seed and step.
        seed, step, allow_autapses, allow_multapses, backend: as in `csr_rewire`.

    Raises:
        TypeError: a dtype that is not taken; neither seed and step nor targets, or both.
        ValueError: a shape that does not fit, or weights where one is for all.
    """
    flags = _flags("rewired", rewired, A)
    _, flat, indptr = A._as_csr()
    if targets is not None:
        targets = as_array(targets)
        check_shape("targets", targets, A.indices.shape, why="one column per slot, as indices")
        targets = targets.reshape(-1)
    moved = csr_rewire(
        flat,
        indptr,
        flags.reshape(-1),
        seed,
        step,
        shape=A.stored_shape,
        targets=targets,
        allow_autapses=allow_autapses,
        allow_multapses=allow_multapses,
        backend=backend,
    )
    data = A.data if weights is None else jnp.where(flags, _weights(weights, A), A.data)
    return _restructured(A, data, moved.reshape(A.indices.shape))


def _flags(name: str, value: ArrayLike, A: Any) -> jax.Array:
    flags = as_array(value)
    check_dtype(name, flags, ("bool",))
    check_shape(name, flags, A.indices.shape, why="one flag per slot, as indices")
    return flags


def _weights(weights: ArrayLike, A: Any) -> jax.Array:
    if not A.data.ndim:
        raise ValueError("weights are given, and data is one weight for all entries; leave weights out")
    new_weights = in_dtype(weights, A.dtype) if isinstance(weights, int | float) else as_array(weights)
    check_same_dtype("weights", new_weights, "data", A.data)
    check_shape("weights", new_weights, (), A.data.shape, why="one for all new synapses, or one per slot")
    return new_weights


def _restructured(A: Any, data: jax.Array, indices: jax.Array) -> Any:
    B = A._changed(data=data, indices=indices, by_column=None)
    if A.by_column is None:
        return B
    _, flat, indptr = B._as_csr()
    # The old copy of the weights tells whether there is to be one.
    plan = by_column(flat, indptr, A.stored_shape)._replace(weights=A.by_column.weights)
    return B._changed(by_column=brought_up_to_date(plan, A.data, data))
