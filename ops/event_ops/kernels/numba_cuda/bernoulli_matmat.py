"""Products of a Bernoulli random matrix with a dense one on a GPU: a warp generates a row once.

Its lanes find entries together, and hand them round: then each lane has a column of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.bernoulli import WEIGHTS, next_draws
from event_ops.kernels.numba_cuda.threads import BLOCK, FULL, WARP, blocks_of, clear, lanes_where
from event_ops.kernels.reference import bernoulli
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel


@cache
def entries_with(weight_of: Any) -> Any:
    """Return `f(weight, table, key, row, draw, column, columns)`: the entries of the next 32 draws of a row.

    It returns the column, or -1, and the weight of this lane's entry, and the column after all of them.
    """

    @cuda.jit(device=True)
    def next_entries(
        weight: Any, table: Any, key: Any, row: Any, draw: Any, column: Any, columns: Any
    ) -> Any:
        found, j, word, following = next_draws(table, key, row, draw, column)
        place, entry = np.int32(-1), weight.dtype.type(0)
        if found and j < columns:
            place, entry = np.int32(j), weight_of(weight, key, row, j, word)
        return place, entry, following

    return next_entries


@cache
def gather_rows_with(weight_of: Any, counts: Any) -> Any:
    """Return the kernel `y[i] = sum over row i of weight * x[column]`, for the elements of x that count."""
    next_entries = entries_with(weight_of)

    @cuda.jit
    def gather_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any) -> None:
        row, lane, n = cuda.grid(1) // WARP, cuda.laneid, y.shape[1]
        if row >= y.shape[0]:  # for all threads of a warp, or none
            return
        for c in range(lane, n, WARP):
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
def scatter_rows_with(weight_of: Any, counts: Any) -> Any:
    """Return the kernel `y[column] += weight * x[i]` over rows i, for the elements of x that count."""
    next_entries = entries_with(weight_of)

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
    outs: Any, *, prob: float, rows: int, distribution: str, transpose: bool, counts: Any
) -> Callable[..., Any]:
    """Return the function `(weight, seed, x) -> y`; the device function `counts` tells which x are used."""
    weight_of = WEIGHTS[distribution]

    def scatter(weight: Any, seed: Any, table: Any, x: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        kernel = scatter_rows_with(weight_of, counts)
        kernel[blocks_of(rows * WARP), BLOCK, stream](weight, seed, table, x, y)

    if transpose:
        run = numba_cuda_callable(scatter, outs)
    else:
        gather = gather_rows_with(weight_of, counts)
        run = numba_cuda_kernel(gather, outs, launch_dims=rows * WARP, threads_per_block=BLOCK)

    def call(weight: Any, seed: Any, x: Any) -> Any:
        return run(weight.reshape(-1), seed.reshape(-1), jnp.asarray(bernoulli.gap_table(prob)), x)

    return call
