"""Plans, which store the entries of a CSR matrix by column too, and the event products that use them."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import export
from jax.custom_derivatives import SymbolicZero

from event_ops.catalog.csr_event_matmat.op import csr_event_matmat
from event_ops.catalog.csr_event_matvec.op import csr_event_matvec
from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.kernels.reference.entries import values_at
from event_ops.sparse.events import Events


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


def event_product(
    data: jax.Array,
    indices: jax.Array,
    indptr: jax.Array,
    events: Events,
    shape: tuple[int, int],
    transpose: bool = False,
) -> jax.Array:
    """Return A @ events or A.T @ events, for a vector of events or a matrix of them."""
    arrays = data, indices, indptr, events.values
    if events.values.ndim == 2:
        return csr_event_matmat(*arrays, shape=shape, transpose=transpose)
    return csr_event_matvec(*arrays, shape=shape, transpose=transpose, encoding=events.encoding)


def planned_event_product(
    data: jax.Array,
    indices: jax.Array,
    indptr: jax.Array,
    events: Events,
    shape: tuple[int, int],
    plan: ByColumn,
) -> jax.Array:
    """Return A @ events from the columns of active events alone; the plan has weights, or data is 0-d."""
    if plan.weights is None:
        return event_product(data, plan.indices, plan.indptr, events, (shape[1], shape[0]), transpose=True)
    return _planned(shape, data, events, indices, indptr, plan)


# The value is computed from the plan's copy of the weights, derivatives from the weights themselves: so
# they are right, and counted once, wherever the plan was made.
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _planned(
    shape: tuple[int, int],
    data: jax.Array,
    events: Events,
    indices: jax.Array,
    indptr: jax.Array,
    plan: Any,
) -> jax.Array:
    return event_product(
        plan.weights, plan.indices, plan.indptr, events, (shape[1], shape[0]), transpose=True
    )


@partial(_planned.defjvp, symbolic_zeros=True)
def _jvp(shape: tuple[int, int], primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    data, events, *rest = primals
    indices, indptr, _ = rest
    y = _planned(shape, *primals)
    dy = jnp.zeros_like(y)
    if not isinstance(tangents[0], SymbolicZero):
        dy += event_product(tangents[0], indices, indptr, events, shape)
    if not isinstance(tangents[1].values, SymbolicZero):
        dy += _planned(shape, data, tangents[1], *rest)
    return y, dy
