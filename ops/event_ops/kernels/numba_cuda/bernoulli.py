"""Rows of a Bernoulli random matrix, generated where they are used: see kernels/reference/bernoulli.py.

A warp generates a row, 32 draws of its stream at a time: the columns of entries are a prefix sum of gaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.random_numbers import outcome_with, philox2x32
from event_ops.kernels.numba_cuda.threads import (
    BLOCK,
    FULL,
    WARP,
    blocks_of,
    clear,
    lanes_where,
    sum_over,
    sum_up_to,
)
from event_ops.kernels.reference import bernoulli
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel

_NO_ENTRY: Final = np.int32(bernoulli.NO_ENTRY)
_NORMAL_STREAM: Final = np.uint64(bernoulli.NORMAL_STREAM)

total_of, gap_of = sum_over(WARP), outcome_with(bernoulli.GAP_BITS)


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


@cache
def gather_rows_with(weight_of: Any, counts: Any) -> Any:
    """Return the kernel `y[i] = sum over row i of weight * x[column]`, for the columns whose x counts."""

    @cuda.jit
    def gather_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any) -> None:
        row = cuda.grid(1) // WARP
        if row < y.size:  # for all threads of a warp, or none
            key, total, column, draw = seed[0], y.dtype.type(0), 0, 0
            while column < x.size:
                found, j, word, column = next_draws(table, key, row, draw, column)
                draw += WARP
                if found and j < x.size and counts(x[j]):
                    total += weight_of(weight, key, row, j, word) * y.dtype.type(x[j])
            total = total_of(total)
            if cuda.laneid == 0:
                y[row] = total

    return gather_rows


@cache
def scatter_rows_with(weight_of: Any, counts: Any, watched: int) -> Any:
    """Return the kernel `y[column] += weight * x[i]` for rows i whose x counts; a warp has `watched` rows."""

    @cuda.jit
    def scatter_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any) -> None:
        first, lane, key = cuda.grid(1) // WARP * watched, cuda.laneid, seed[0]
        taken = lane < watched and first + lane < x.size and counts(x[first + lane])
        rows = lanes_where(taken)
        while rows != 0:
            row = first + cuda.ffs(rows) - 1
            rows &= rows - 1
            value, column, draw = y.dtype.type(x[row]), 0, 0
            while column < y.size:
                found, j, word, column = next_draws(table, key, row, draw, column)
                draw += WARP
                if found and j < y.size:
                    cuda.atomic.add(y, j, weight_of(weight, key, row, j, word) * value)

    return scatter_rows


def product(
    outs: Any,
    *,
    prob: float,
    rows: int,
    distribution: str,
    transpose: bool,
    counts: Any,
    watched: int = 1,
) -> Callable[..., Any]:
    """Return the function `(weight, seed, x) -> y`; the device function `counts` tells which x are used."""
    weight_of = WEIGHTS[distribution]

    def scatter(weight: Any, seed: Any, table: Any, x: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        blocks = blocks_of(blocks_of(rows, watched) * WARP)
        scatter_rows_with(weight_of, counts, watched)[blocks, BLOCK, stream](weight, seed, table, x, y)

    if transpose:
        run = numba_cuda_callable(scatter, outs)
    else:
        gather = gather_rows_with(weight_of, counts)
        run = numba_cuda_kernel(gather, outs, launch_dims=rows * WARP, threads_per_block=BLOCK)

    def call(weight: Any, seed: Any, x: Any) -> Any:
        return run(weight.reshape(-1), seed.reshape(-1), jnp.asarray(bernoulli.gap_table(prob)), x)

    return call
