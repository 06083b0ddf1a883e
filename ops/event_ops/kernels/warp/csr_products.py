"""Products of a CSR matrix in Warp: loops along its rows or over its entries; a vector is one column."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference.entries import one_each
from event_ops.kernels.warp.access import Array, Array2d, bounded, is_active, place, weight_at
from event_ops.kernels.warp.scatter import IN_ORDER, scatter_rows, sums_of
from ffi_bridge import warp_kernel

# What an entry adds: its weight times a number, times an event, or times the difference to that of its row.
OF_NUMBER, OF_EVENT, OF_DIFFERENCE = wp.constant(0), wp.constant(1), wp.constant(2)


@wp.kernel(enable_backward=False)
def gather_rows(
    data: Array, permutation: Array, indices: Array, indptr: Array, x: Array2d, term: wp.int32, y: Array2d
):
    i, c = wp.tid()
    nse = indices.shape[0]
    total, own_value = y.dtype(0), y.dtype(0)
    if term == OF_DIFFERENCE:
        own_value = y.dtype(x[i, c])
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], x.shape[0])
        if j >= 0:
            # A number of 0 counts, too: its weight may be NaN.
            if term != OF_EVENT or is_active(x[j, c]):
                total += weight_at(data, permutation, k) * (y.dtype(x[j, c]) - own_value)
    y[i, c] = total


# Which factor is events: 0 there hides the other factor, even NaN.
NONE, OF_X, OF_Y = 0, 1, 2


@wp.func
def product(x: Any, y: Any, events: wp.int32) -> Any:
    """x * y, and exactly 0 where the one that is an event is 0."""
    zero = type(x)(0)
    if (events == 1 and x == zero) or (events == 2 and y == zero):
        return zero
    return x * y


@wp.kernel(enable_backward=False)
def every_entry(indices: Array, indptr: Array, X: Array2d, Y: Array2d, events: wp.int32, out: Array):
    """out[k] = sum over c of X[i, c] * Y[indices[k], c] over row i, by a thread."""
    i = wp.tid()
    nse = indices.shape[0]
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], Y.shape[0])
        total = out.dtype(0)
        if j >= 0:
            for c in range(X.shape[1]):
                total += product(X[i, c], Y[j, c], events)
        out[k] = total


# `every_entry` would read an index for each weight: 1.5 times the bytes.
@wp.kernel(enable_backward=False)
def scale_rows(data: Array, indptr: Array, x: Array, events: bool, out: Array):
    """out[k] = data[k] * x[i] over row i, by a thread."""
    i = wp.tid()
    nse = data.shape[0]
    if is_active(x[i]) or not events:
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            out[k] = data[k] * x[i]


def make_product(term: int, outs: Any, shape: tuple[int, int], transpose: bool) -> Callable[..., jax.Array]:
    """Return the function of arrays for one orientation, whose terms are one of the three above."""
    columns = outs.shape[1] if len(outs.shape) == 2 else 1
    wide = jax.ShapeDtypeStruct((outs.shape[0], columns), outs.dtype)
    run = sums_of(scatter_rows, wide, (shape[0], columns)) if transpose else warp_kernel(gather_rows, wide)

    def call(data: Any, indices: Any, indptr: Any, x: Any, permutation: Any = IN_ORDER) -> jax.Array:
        weights = data.reshape(-1).astype(outs.dtype)
        how = term == OF_EVENT if transpose else term
        return run(weights, permutation, indices, indptr, x.reshape(x.shape[0], columns), how).reshape(
            outs.shape
        )

    return call


def csr_matmat(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of a matrix or a vector of numbers."""
    return make_product(OF_NUMBER, outs, shape, transpose)


def csr_event_matmat(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of a matrix of events."""
    return make_product(OF_EVENT, outs, shape, transpose)


def csr_event_matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of events in any encoding."""
    run = make_product(OF_EVENT, outs, shape, transpose)

    def call(data: Any, indices: Any, indptr: Any, events: Any, *permutation: Any) -> jax.Array:
        each = one_each(events, shape[not transpose], outs.dtype)
        return run(data, indices, indptr, each, *permutation)

    return call


csr_matvec = csr_matmat


def csr_gap_current(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: of potentials."""
    return make_product(OF_DIFFERENCE, outs, shape, False)


def csr_sddmm(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; vectors are matrices of one column."""
    run = warp_kernel(every_entry, outs, launch_dims=shape[0], in_out_argnames=["out"])

    def call(indices: Any, indptr: Any, X: Any, Y: Any) -> Any:
        events = OF_X if X.dtype == bool else OF_Y if Y.dtype == bool else NONE
        factors = [x.astype(outs.dtype).reshape(x.shape[0], *(x.shape[1:] or (1,))) for x in (X, Y)]
        return run(indices, indptr, *factors, events, jnp.zeros(outs.shape, outs.dtype))

    return call


def csr_scale_rows(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; bools are numbers whose zeros hide the weights."""

    def call(data: Any, indptr: Any, x: Any) -> Any:
        run = warp_kernel(scale_rows, outs, launch_dims=x.size, in_out_argnames=["out"])
        return run(data, indptr, x.astype(outs.dtype), x.dtype == bool, jnp.zeros(outs.shape, outs.dtype))

    return call
