"""Products with a Bernoulli random matrix in Warp: a thread generates a row, for all columns."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference.bernoulli import gap_table
from event_ops.kernels.warp.access import Array, Array2d, is_active
from event_ops.kernels.warp.bernoulli import DISTRIBUTIONS, next_entry, weight_of
from event_ops.kernels.warp.scatter import sums_of
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def gather_rows(
    weight: Array, kind: wp.int32, seed: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.uint32),
    x: Array2d, of_events: bool, y: Array2d,
):  # fmt: skip
    i = wp.tid()
    row, draw = wp.uint32(i), wp.uint32(0)
    column, columns = wp.uint32(0), wp.uint32(x.shape[0])
    for c in range(y.shape[1]):
        y[i, c] = y.dtype(0)
    while column < columns:
        found, column, word = next_entry(table, seed[0], row, draw, column)
        draw += wp.uint32(1)
        if found and column < columns:
            j = wp.int32(column)
            entry = weight_of(weight, kind, seed[0], row, column, word)
            for c in range(y.shape[1]):
                # A number of 0 counts, too: its weight may be NaN.
                if not of_events or is_active(x[j, c]):
                    y[i, c] = y[i, c] + entry * y.dtype(x[j, c])
            column += wp.uint32(1)


@wp.kernel(enable_backward=False)
def scatter_rows(
    weight: Array, kind: wp.int32, seed: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.uint32),
    x: Array2d, of_events: bool, y: Array2d,
):  # fmt: skip
    i = wp.tid()
    row, draw = wp.uint32(i), wp.uint32(0)
    column, columns = wp.uint32(0), wp.uint32(y.shape[0])
    needed = not of_events
    for c in range(x.shape[1]):
        if is_active(x[i, c]):
            needed = True
    if not needed:
        columns = wp.uint32(0)
    while column < columns:
        found, column, word = next_entry(table, seed[0], row, draw, column)
        draw += wp.uint32(1)
        if found and column < columns:
            entry = weight_of(weight, kind, seed[0], row, column, word)
            for c in range(x.shape[1]):
                if not of_events or is_active(x[i, c]):
                    wp.atomic_add(y, wp.int32(column), c, entry * y.dtype(x[i, c]))
            column += wp.uint32(1)


def product(
    of_events: bool,
    *,
    outs: Any,
    prob: float,
    shape: tuple[int, int],
    distribution: str,
    transpose: bool,
    **_: Any,
) -> Callable[..., Any]:
    """Return the call `(weight, seed, x) -> y` for one matrix and orientation; a vector is one column."""
    size, columns = outs.shape[0], outs.shape[1] if len(outs.shape) == 2 else 1
    wide = jax.ShapeDtypeStruct((size, columns), outs.dtype)
    gather = warp_kernel(gather_rows, wide, launch_dims=shape[0])
    run = sums_of(scatter_rows, wide, shape[0]) if transpose else gather

    def call(weight: Any, seed: Any, x: Any) -> Any:
        table = jnp.asarray(gap_table(prob))
        x = x.reshape(x.shape[0], columns)
        return run(weight, DISTRIBUTIONS[distribution], seed, table, x, of_events).reshape(outs.shape)

    return call


procedural_matvec = procedural_matmat = partial(product, False)
procedural_event_matvec = procedural_event_matmat = partial(product, True)
