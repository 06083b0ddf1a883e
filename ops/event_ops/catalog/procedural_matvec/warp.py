"""Product with a random matrix in Warp: one thread generates a row."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.parts.reference.bernoulli import gap_table
from event_ops.parts.warp.bernoulli import DISTRIBUTIONS, NO_ENTRY, gap_of, philox2x32, weight_of
from event_ops.parts.warp.scatter import sums_of
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def gather_rows(
    weight: wp.array(dtype=Any),
    kind: wp.int32,
    seed: wp.array(dtype=wp.uint32),
    table: wp.array(dtype=wp.uint32),
    v: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
):
    row = wp.uint32(wp.tid())
    draw, column, columns = wp.uint32(0), wp.uint32(0), wp.uint32(v.shape[0])
    total = y.dtype(0)
    while column < columns:
        choice, word = philox2x32(draw, row, seed[0])
        gap = gap_of(table, choice)
        draw += wp.uint32(1)
        column += gap
        if column < columns:
            if gap != NO_ENTRY:
                j = wp.int32(column)
                total += weight_of(weight, kind, seed[0], row, column, word) * v[j]
                column += wp.uint32(1)
    y[wp.tid()] = total


@wp.kernel(enable_backward=False)
def scatter_rows(
    weight: wp.array(dtype=Any),
    kind: wp.int32,
    seed: wp.array(dtype=wp.uint32),
    table: wp.array(dtype=wp.uint32),
    v: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
):
    row = wp.uint32(wp.tid())
    draw, column = wp.uint32(0), wp.uint32(0)
    columns = wp.uint32(y.shape[0])
    value = v[wp.tid()]
    while column < columns:
        choice, word = philox2x32(draw, row, seed[0])
        gap = gap_of(table, choice)
        draw += wp.uint32(1)
        column += gap
        if column < columns:
            if gap != NO_ENTRY:
                term = weight_of(weight, kind, seed[0], row, column, word) * value
                wp.atomic_add(y, wp.int32(column), term)
                column += wp.uint32(1)


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """The callable for one matrix and orientation."""
    kind = DISTRIBUTIONS[distribution]
    gather = warp_kernel(gather_rows, outs)
    scatter = sums_of(scatter_rows, outs, shape[0])

    def call(weight: Any, seed: Any, v: Any) -> Any:
        table = jnp.asarray(gap_table(prob))
        if not transpose:
            return gather(weight, kind, seed, table, v)
        return scatter(weight, kind, seed, table, v)

    return call
