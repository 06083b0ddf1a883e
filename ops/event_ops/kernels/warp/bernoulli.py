"""Rows of a Bernoulli random matrix, generated where they are used: see kernels/reference/bernoulli.py."""

import math
from typing import Any

import warp as wp

from event_ops.kernels.reference import bernoulli
from event_ops.kernels.warp.access import Array
from event_ops.kernels.warp.random_numbers import outcome, philox2x32

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


@wp.func
def next_entry(
    table: wp.array(dtype=wp.uint32), seed: wp.uint32, row: wp.uint32, draw: wp.uint32, column: wp.uint32
):
    """Return whether a draw of a row is an entry, its column, and its weight word."""
    choice, word = philox2x32(draw, row, seed)
    gap = outcome(table, 0, choice, _GAP_BITS)
    return gap != NO_ENTRY, column + gap, word
