"""Rows of a Bernoulli random matrix, generated where they are used: see parts/reference/bernoulli.py."""

import math
from typing import Any

import warp as wp

from event_ops.parts.reference import bernoulli, random_numbers

CONSTANT, UNIFORM, NORMAL = 0, 1, 2
DISTRIBUTIONS = {"constant": CONSTANT, "uniform": UNIFORM, "normal": NORMAL}

NO_ENTRY = wp.constant(wp.uint32(bernoulli.NO_ENTRY))
_CUT_BITS = wp.constant(wp.uint32(bernoulli.CUT_BITS))
_GAP_BITS = wp.constant(wp.uint32(bernoulli.GAP_BITS))
_CUT = wp.constant(wp.uint32((1 << bernoulli.CUT_BITS) - 1))
_NORMAL_STREAM = wp.constant(wp.uint32(bernoulli.NORMAL_STREAM))
_ROUNDS = wp.constant(random_numbers.ROUNDS)
_MULTIPLIER = wp.constant(wp.uint64(random_numbers.MULTIPLIER))
_KEY_STEP = wp.constant(wp.uint32(random_numbers.KEY_STEP))
_TURN = wp.constant(2.0 * math.pi)


@wp.func
def philox2x32(x: wp.uint32, y: wp.uint32, key: wp.uint32):
    """Two words from the counter (x, y)."""
    first = x
    second = y
    k = key
    for _ in range(_ROUNDS):
        product = wp.uint64(first) * _MULTIPLIER
        first = wp.uint32(product >> wp.uint64(32)) ^ k ^ second
        second = wp.uint32(product & wp.uint64(4294967295))
        k = k + _KEY_STEP
    return first, second


@wp.func
def gap_of(table: wp.array(dtype=wp.uint32), word: wp.uint32) -> wp.uint32:
    """How many columns a word passes over, or NO_ENTRY."""
    slot = word >> _CUT_BITS
    entry = table[wp.int32(slot)]
    if (word & _CUT) < (entry >> _GAP_BITS):
        return slot
    return entry & NO_ENTRY


@wp.func
def unit_uniform(word: wp.uint32, like: Any) -> Any:
    """A number in [0, 1), a multiple of 2**-24, in the type of `like`."""
    return type(like)(word >> wp.uint32(8)) * type(like)(5.9604644775390625e-08)


@wp.func
def weight_of(
    weight: wp.array(dtype=Any),
    kind: wp.int32,
    seed: wp.uint32,
    row: wp.uint32,
    column: wp.uint32,
    word: wp.uint32,
) -> Any:
    """The weight of one entry, from the parameters of its distribution."""
    first = weight[0]
    if kind == UNIFORM:
        return first + (weight[1] - first) * unit_uniform(word, first)
    if kind == NORMAL:
        a, b = philox2x32(column | _NORMAL_STREAM, row, seed)
        radius = wp.sqrt(type(first)(-2.0) * wp.log(type(first)(1.0) - unit_uniform(a, first)))
        return first + weight[1] * radius * wp.cos(type(first)(_TURN) * unit_uniform(b, first))
    return first
