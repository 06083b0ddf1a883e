"""Products with a Bernoulli random matrix on a GPU: a warp generates a row.

Times a vector, each lane adds the entries that it found. Times a matrix, lanes find entries together and hand
them round, so that a row is generated once for all columns: then each lane has a column of the result.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import always, is_active
from event_ops.kernels.numba_cuda.random_numbers import next_draws, random_functions
from event_ops.kernels.numba_cuda.threads import BLOCK, FULL, WARP, blocks_of, clear, lanes_where, sum_over
from event_ops.kernels.reference.bernoulli import gap_table
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel

RESIDENT_WARPS: Final = 1 << 13  # about as many as a GPU holds at once; with more rows each watches several

total_of = sum_over(WARP)


@cache
def make_gather_vector(weight_of: Any, counts: Any) -> Any:
    """Return the kernel `y[i] = sum over row i of weight * x[column]`, for the columns whose x counts."""

    @cuda.jit
    def gather_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any) -> None:
        row = cuda.grid(1) // WARP
        if row < y.size:  # for all threads of a warp, or none
            key, total, column, draw = seed[0], y.dtype.type(0), 0, 0
            while column < x.size:
                is_entry, j, word, column = next_draws(table, key, row, draw, column)
                draw += WARP
                if is_entry and j < x.size and counts(x[j]):
                    total += weight_of(weight, key, row, j, word) * y.dtype.type(x[j])
            total = total_of(total)
            if cuda.laneid == 0:
                y[row] = total

    return gather_rows


@cache
def make_scatter_vector(weight_of: Any, counts: Any, watched: int) -> Any:
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
                is_entry, j, word, column = next_draws(table, key, row, draw, column)
                draw += WARP
                if is_entry and j < y.size:
                    cuda.atomic.add(y, j, weight_of(weight, key, row, j, word) * value)

    return scatter_rows


@cache
def make_next_entries(weight_of: Any) -> Any:
    """Return `f(weight, table, key, row, draw, column, columns)`: the entries of the next 32 draws of a row.

    It returns the column, or -1, and the weight of this lane's entry, and the column after all of them.
    """

    @cuda.jit(device=True)
    def next_entries(
        weight: Any, table: Any, key: Any, row: Any, draw: Any, column: Any, columns: Any
    ) -> Any:
        is_entry, j, word, following = next_draws(table, key, row, draw, column)
        place, entry = np.int32(-1), weight.dtype.type(0)
        if is_entry and j < columns:
            place, entry = np.int32(j), weight_of(weight, key, row, j, word)
        return place, entry, following

    return next_entries


@cache
def make_gather_matrix(weight_of: Any, counts: Any) -> Any:
    """Return the kernel `y[i] = sum over row i of weight * x[column]`, for the elements of x that count."""
    next_entries = make_next_entries(weight_of)

    @cuda.jit
    def gather_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any) -> None:
        row, lane, n = cuda.grid(1) // WARP, cuda.laneid, y.shape[1]
        if row >= y.shape[0]:  # for all threads of a warp, or none
            return
        for c in range(lane, n, WARP):
            # The row's own lanes clear it and add to it: no launch and no atomics.
            y[np.uint64(row), np.uint64(c)] = 0
        key, column, draw = seed[0], 0, 0
        while column < x.shape[0]:
            j, entry, column = next_entries(weight, table, key, row, draw, column, x.shape[0])
            draw += WARP
            for c in range(lane, lane + n, WARP):  # as often for every lane
                total = y.dtype.type(0)
                for source in range(WARP):
                    at, factor = cuda.shfl_sync(FULL, j, source), cuda.shfl_sync(FULL, entry, source)
                    if at >= 0 and c < n:
                        value = x[np.uint64(at), np.uint64(c)]
                        if counts(value):
                            total += factor * y.dtype.type(value)
                if c < n:
                    y[np.uint64(row), np.uint64(c)] += total

    return gather_rows


@cache
def make_scatter_matrix(weight_of: Any, counts: Any) -> Any:
    """Return the kernel `y[column] += weight * x[i]` over rows i, for the elements of x that count."""
    next_entries = make_next_entries(weight_of)

    @cuda.jit
    def scatter_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any) -> None:
        row, lane, n = cuda.grid(1) // WARP, cuda.laneid, y.shape[1]
        if row >= x.shape[0]:  # for all threads of a warp, or none
            return
        needed = False
        for c in range(lane, n, WARP):
            needed = needed or counts(x[np.uint64(row), np.uint64(c)])
        if lanes_where(needed) == 0:
            return
        key, column, draw = seed[0], 0, 0
        while column < y.shape[0]:
            j, entry, column = next_entries(weight, table, key, row, draw, column, y.shape[0])
            draw += WARP
            for c in range(lane, lane + n, WARP):  # as often for every lane
                value, used = y.dtype.type(0), False
                if c < n:
                    used = counts(x[np.uint64(row), np.uint64(c)])
                    value = y.dtype.type(x[np.uint64(row), np.uint64(c)])
                for source in range(WARP):
                    at, factor = cuda.shfl_sync(FULL, j, source), cuda.shfl_sync(FULL, entry, source)
                    if at >= 0 and used:
                        cuda.atomic.add(y, (np.uint64(at), np.uint64(c)), factor * value)

    return scatter_rows


def product(
    counts: Any,
    *,
    outs: Any,
    prob: float,
    shape: tuple[int, int],
    distribution: str,
    transpose: bool,
    **_: Any,
) -> Callable[..., Any]:
    """Return the function `(weight, seed, x) -> y`; the device function `counts` tells which x are used."""
    rows, weight_of, by_matrix = shape[0], random_functions.weights[distribution], len(outs.shape) == 2
    # Where rows are left out, a warp finds those that are not.
    watches = counts is is_active and not by_matrix
    watched = min(WARP, max(1, rows // RESIDENT_WARPS)) if watches else 1

    def scatter(weight: Any, seed: Any, table: Any, x: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        blocks = blocks_of(blocks_of(rows, watched) * WARP)
        kernel = make_scatter_matrix(weight_of, counts)
        if not by_matrix:
            kernel = make_scatter_vector(weight_of, counts, watched)
        kernel[blocks, BLOCK, stream](weight, seed, table, x, y)

    if transpose:
        run = numba_cuda_callable(scatter, outs)
    else:
        gather = (make_gather_matrix if by_matrix else make_gather_vector)(weight_of, counts)
        run = numba_cuda_kernel(gather, outs, launch_dims=rows * WARP, threads_per_block=BLOCK)

    def call(weight: Any, seed: Any, x: Any) -> Any:
        return run(weight.reshape(-1), seed.reshape(-1), jnp.asarray(gap_table(prob)), x)

    return call


procedural_matvec = procedural_matmat = partial(product, always)
procedural_event_matvec = procedural_event_matmat = partial(product, is_active)
