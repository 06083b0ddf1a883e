"""The operator `csr_event_matvec`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.typing import ArrayLike

from event_ops.checks import FLOATS, as_array
from event_ops.csr_checks import check_csr, check_events, check_operand, event_weights, matrix_shape
from event_ops.entries import rows_of, values_at
from event_ops.linear import tangent_in
from ffi_bridge import XLACustomKernel


def csr_event_matvec(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    events: ArrayLike,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ events`, or `y = A.T @ events`, over active events: bools that are True, floats not zero.

    An active bool event counts as 1, a float one as its value. An inactive event contributes exactly 0, even
    where its weight is NaN or infinite. With transpose=True (rows are presynaptic neurons) the cost follows
    the number of spikes, after one pass over events and y; without it every entry is looked at. An entry
    whose column is not in [0, columns) contributes nothing. Differentiable in data and in float events, at
    inactive ones too: the product is linear in an event's value.

    Args:
        data: (nse,), the weights; float32 or float64. Or one weight for all entries: 0-d, (1,) or a number.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        events: (columns,), or (rows,) with transpose=True; bool, or the dtype of data.
        shape: (rows, columns) of A, static; not of the transpose.
        transpose: multiply with A.T.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of data; the sum's order is open.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than data.
        ValueError: a shape that does not fit `shape`.
    """
    indices, indptr, events = map(as_array, (indices, indptr, events))
    data = event_weights(data, indices, events.dtype if events.dtype in FLOATS else float)
    shape = matrix_shape(shape)
    check_csr(data, indices, indptr, shape, FLOATS)
    check_operand("events", events, shape, transpose)
    check_events("events", events, data)
    outs = jax.ShapeDtypeStruct((shape[1] if transpose else shape[0],), data.dtype)
    return kernel(
        data, indices, indptr, events, outs=outs, shape=shape, transpose=bool(transpose), backend=backend
    )


kernel = XLACustomKernel("csr_event_matvec")
kernel.def_tags("sparse", "event-driven")
kernel.def_reference("event_ops.catalog.csr_event_matvec.reference:generator")
kernel.def_numba_kernel("event_ops.catalog.csr_event_matvec.numba_cpu:generator")
kernel.def_jvp_rule2(tangent_in(kernel, 0), None, None, tangent_in(kernel, 3))  # data, events


@kernel.def_transpose_rule
def _transpose(
    ct: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    events: Any,
    *,
    outs: Any,
    transpose: bool,
    **params: Any,
) -> list[Any]:
    if ad.is_undefined_primal(events):
        back = jax.ShapeDtypeStruct(events.aval.shape, events.aval.dtype)
        ct_events = kernel(data, indices, indptr, ct, outs=back, transpose=not transpose, **params)
        return [None, None, None, ct_events]
    if data.aval.ndim == 0:
        one = jnp.ones((), ct.dtype)
        counts = kernel(one, indices, indptr, events, outs=outs, transpose=transpose, **params)
        return [jnp.vdot(ct, counts), None, None, None]
    rows = rows_of(indptr, indices.shape[0])
    ids, ct_ids = (rows, indices) if transpose else (indices, rows)
    active = values_at(events, ids)
    terms = values_at(ct, ct_ids)
    if events.dtype == bool:
        return [jnp.where(active, terms, 0), None, None, None]
    # Not hidden where an event is 0: there, too, this product has a derivative in the event.
    return [terms * active, None, None, None]
