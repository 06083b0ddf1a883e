"""CSR to CSC in Warp, one thread for each row, where XLA sorts; CSR to dense."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference.conversions import sorted_by_column
from event_ops.kernels.warp.access import Array, Array2d, at, bounded, place
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def places_of_entries(
    indices: Array,
    indptr: Array,
    columns: wp.int32,
    row: wp.array(dtype=wp.int32),
    column: wp.array(dtype=wp.int32),
):
    i = wp.tid()
    nse = indices.shape[0]
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], columns)
        row[k] = i
        if j >= 0:
            column[k] = j
        else:  # also if an earlier row has written it, where indptr is broken
            column[k] = columns


def csr_tocsc(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays. A stable sort has no short form in Warp; XLA has one."""
    rows, columns = shape
    flat = jax.ShapeDtypeStruct(outs[0].shape, jnp.int32)
    run = warp_kernel(places_of_entries, (flat, flat), launch_dims=rows, in_out_argnames=["row", "column"])

    def tocsc(indices: Any, indptr: Any) -> Any:
        start = [jnp.full(flat.shape, size, jnp.int32) for size in shape]
        row, column = run(indices, indptr, columns, *start)
        return sorted_by_column(row, column, columns, outs)

    return tocsc


@wp.kernel(enable_backward=False)
def todense(data: Array, indices: Array, indptr: Array, D: Array2d):
    i = wp.tid()
    nse = indices.shape[0]
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], D.shape[1])
        if j >= 0:
            D[i, j] = D[i, j] + at(data, k)


def csr_todense(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    add = warp_kernel(todense, outs, launch_dims=outs.shape[0], in_out_argnames=["D"])
    return lambda data, indices, indptr: add(
        data.astype(outs.dtype), indices, indptr, jnp.zeros(outs.shape, outs.dtype)
    )
