"""Rows of a Bernoulli random matrix, generated where they are used: see kernels/reference/bernoulli.py."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference import bernoulli
from event_ops.kernels.warp.access import Array, Array2d, is_active
from event_ops.kernels.warp.random_numbers import outcome, philox2x32
from event_ops.kernels.warp.scatter import sums_of
from ffi_bridge import warp_kernel

CONSTANT, UNIFORM, NORMAL = 0, 1, 2
DISTRIBUTIONS = {"constant": CONSTANT, "uniform": UNIFORM, "normal": NORMAL}

NO_ENTRY = wp.constant(wp.uint32(bernoulli.NO_ENTRY))
_GAP_BITS = wp.constant(wp.uint32(bernoulli.GAP_BITS))
_NORMAL_STREAM = wp.constant(wp.uint32(bernoulli.NORMAL_STREAM))
_TURN = wp.constant(2.0 * math.pi)


@wp.func
def unit_uniform(word: wp.uint32, like: Any) -> Any:
    """Return a number in [0, 1), a multiple of 2**-24, in the type of `like`."""
    return type(like)(word >> wp.uint32(8)) * type(like)(5.9604644775390625e-08)


@wp.func
def weight_of(
    weight: Array, kind: wp.int32, seed: wp.uint32, row: wp.uint32, column: wp.uint32, word: wp.uint32
) -> Any:
    """Return the weight of one entry, by the parameters of its distribution."""
    first = weight[0]
    if kind == UNIFORM:
        return first + (weight[1] - first) * unit_uniform(word, first)
    if kind == NORMAL:
        a, b = philox2x32(column | _NORMAL_STREAM, row, seed)
        radius = wp.sqrt(type(first)(-2.0) * wp.log(type(first)(1.0) - unit_uniform(a, first)))
        return first + weight[1] * radius * wp.cos(type(first)(_TURN) * unit_uniform(b, first))
    return first


@wp.kernel(enable_backward=False)
def gather_rows(
    weight: Array, kind: wp.int32, seed: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.uint32),
    x: Array, of_events: bool, y: Array,
):  # fmt: skip
    row = wp.uint32(wp.tid())
    draw, column, columns = wp.uint32(0), wp.uint32(0), wp.uint32(x.shape[0])
    total = y.dtype(0)
    while column < columns:
        choice, word = philox2x32(draw, row, seed[0])
        gap = outcome(table, 0, choice, _GAP_BITS)
        draw += wp.uint32(1)
        column += gap
        if column < columns:
            if gap != NO_ENTRY:
                j = wp.int32(column)
                # A number of 0 counts, too: its weight may be NaN.
                if not of_events or is_active(x[j]):
                    total += weight_of(weight, kind, seed[0], row, column, word) * y.dtype(x[j])
                column += wp.uint32(1)
    y[wp.tid()] = total


@wp.kernel(enable_backward=False)
def scatter_rows(
    weight: Array, kind: wp.int32, seed: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.uint32),
    x: Array, of_events: bool, y: Array,
):  # fmt: skip
    row = wp.uint32(wp.tid())
    draw, column = wp.uint32(0), wp.uint32(0)
    columns = wp.uint32(y.shape[0])
    if of_events and not is_active(x[wp.tid()]):
        columns = wp.uint32(0)
    value = y.dtype(x[wp.tid()])
    while column < columns:
        choice, word = philox2x32(draw, row, seed[0])
        gap = outcome(table, 0, choice, _GAP_BITS)
        draw += wp.uint32(1)
        column += gap
        if column < columns:
            if gap != NO_ENTRY:
                term = weight_of(weight, kind, seed[0], row, column, word) * value
                wp.atomic_add(y, wp.int32(column), term)
                column += wp.uint32(1)


@wp.kernel(enable_backward=False)
def gather_rows_2d(
    weight: Array, kind: wp.int32, seed: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.uint32),
    x: Array2d, of_events: bool, y: Array2d,
):  # fmt: skip
    i = wp.tid()
    row = wp.uint32(i)
    draw, column, columns = wp.uint32(0), wp.uint32(0), wp.uint32(x.shape[0])
    for c in range(y.shape[1]):
        y[i, c] = y.dtype(0)
    while column < columns:
        choice, word = philox2x32(draw, row, seed[0])
        gap = outcome(table, 0, choice, _GAP_BITS)
        draw += wp.uint32(1)
        column += gap
        if column < columns:
            if gap != NO_ENTRY:
                j = wp.int32(column)
                entry = weight_of(weight, kind, seed[0], row, column, word)
                for c in range(y.shape[1]):
                    # A number of 0 counts, too: its weight may be NaN.
                    if not of_events or is_active(x[j, c]):
                        y[i, c] = y[i, c] + entry * y.dtype(x[j, c])
                column += wp.uint32(1)


@wp.kernel(enable_backward=False)
def scatter_rows_2d(
    weight: Array, kind: wp.int32, seed: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.uint32),
    x: Array2d, of_events: bool, y: Array2d,
):  # fmt: skip
    i = wp.tid()
    row = wp.uint32(i)
    draw, column, columns = wp.uint32(0), wp.uint32(0), wp.uint32(y.shape[0])
    needed = not of_events
    for c in range(x.shape[1]):
        if is_active(x[i, c]):
            needed = True
    if not needed:
        columns = wp.uint32(0)
    while column < columns:
        choice, word = philox2x32(draw, row, seed[0])
        gap = outcome(table, 0, choice, _GAP_BITS)
        draw += wp.uint32(1)
        column += gap
        if column < columns:
            if gap != NO_ENTRY:
                entry = weight_of(weight, kind, seed[0], row, column, word)
                for c in range(x.shape[1]):
                    if not of_events or is_active(x[i, c]):
                        wp.atomic_add(y, wp.int32(column), c, entry * y.dtype(x[i, c]))
                column += wp.uint32(1)


GATHER, SCATTER = (gather_rows, gather_rows_2d), (scatter_rows, scatter_rows_2d)  # [by a matrix]


def product(
    outs: Any, *, prob: float, rows: int, distribution: str, transpose: bool, of_events: bool
) -> Callable[..., Any]:
    """Return the call `(weight, seed, x) -> y` for one matrix and orientation: one thread generates a row."""
    by_matrix = len(outs.shape) == 2
    gather = warp_kernel(GATHER[by_matrix], outs, launch_dims=rows)
    run = sums_of(SCATTER[by_matrix], outs, rows) if transpose else gather

    def call(weight: Any, seed: Any, x: Any) -> Any:
        table = jnp.asarray(bernoulli.gap_table(prob))
        return run(weight, DISTRIBUTIONS[distribution], seed, table, x, of_events)

    return call
