"""Rows of a Bernoulli random matrix, generated where they are used: see kernels/reference/bernoulli.py.

A warp generates a row, 32 draws of its stream at a time: the columns of entries are a prefix sum of gaps.
"""

import math
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.random_numbers import outcome_with, philox2x32
from event_ops.kernels.numba_cuda.threads import FULL, WARP, sum_up_to
from event_ops.kernels.reference import bernoulli

_NO_ENTRY: Final = np.int32(bernoulli.NO_ENTRY)
_NORMAL_STREAM: Final = np.uint64(bernoulli.NORMAL_STREAM)

gap_of = outcome_with(bernoulli.GAP_BITS)


@cuda.jit(device=True)
def next_draws(table: Any, seed: Any, row: Any, draw: Any, column: Any) -> Any:
    """Return whether draw `draw` + lane is an entry, its column and word, and the column after 32 draws."""
    choice, word = philox2x32(draw + cuda.laneid, row, seed)
    gap = gap_of(table, 0, choice)
    found = gap != _NO_ENTRY
    step = np.int32(gap + 1 if found else gap)
    reached = sum_up_to(step)
    following = column + cuda.shfl_sync(FULL, reached, WARP - 1)
    return found, column + (reached - step) + gap, word, following


@cuda.jit(device=True)
def unit_uniform(word: Any, weight: Any) -> Any:
    """Return a number in [0, 1), a multiple of 2**-24, in the dtype of `weight`."""
    return weight.dtype.type(np.uint32(word >> np.uint64(8))) * weight.dtype.type(2.0**-24)


@cuda.jit(device=True)
def constant(weight: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """Return the weight of every entry."""
    return weight[0]


@cuda.jit(device=True)
def uniform(weight: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """Return the weight of an entry, uniform between weight[0] and weight[1]."""
    return weight[0] + (weight[1] - weight[0]) * unit_uniform(word, weight)


@cuda.jit(device=True)
def normal(weight: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """Return the weight of an entry, with mean weight[0] and deviation weight[1], by Box and Muller."""
    first, second = philox2x32(np.uint64(column) | _NORMAL_STREAM, row, seed)
    real = weight.dtype.type
    radius = math.sqrt(real(-2) * math.log(real(1) - unit_uniform(first, weight)))
    return weight[0] + weight[1] * radius * math.cos(real(2 * math.pi) * unit_uniform(second, weight))


WEIGHTS: Final = {"constant": constant, "uniform": uniform, "normal": normal}
