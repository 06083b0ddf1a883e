"""Products of a sparse matrix with a dense one: a block of columns at a time, held in registers."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from jax import export

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist, row_span
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.simd import load, store, zeros
from event_ops.kernels.numba_cpu.split import make_parallel, make_parallel_sums

# A parallel launch pays for itself from this many terms; beginning a row costs as much as some terms.
MIN_TERMS_PARALLEL = 1 << 18
TERMS_TO_BEGIN = 8

WIDTHS = (32, 16, 8, 4, 2, 1)  # columns that a block can have


def widths_of(columns: int) -> tuple[int, ...]:
    """Return the widths of blocks for `columns` columns: the widest as often as it fits, narrower ones once.

    A number of columns that an exported program leaves open may need all widths.
    """
    if export.is_symbolic_dim(columns):
        return WIDTHS
    widths, left = [], columns
    for width in WIDTHS:
        if left >= width:
            widths.append(width)
            left %= width
    return tuple(widths) or WIDTHS[-1:]


def is_large(entries: int, columns: int) -> bool:
    """Return whether a product with `columns` columns is worth a parallel launch."""
    return reaches(entries * (columns + TERMS_TO_BEGIN), MIN_TERMS_PARALLEL)


def make_gathered_row(add: Any, widths: tuple[int, ...]) -> Any:
    """Return the kernel that sums weight k times B[indices[k]] over row i, its entries `begin` to `end`.

    `add` adds a weight times some lanes of B to a sum: `add_product`, or `add_weighted` for events.
    """

    def block_of(width: int) -> Any:
        @njit(forceinline=True)
        def gather(weights: Any, indices: Any, begin: Any, end: Any, B: Any, y: Any, i: Any, c: Any) -> None:
            size, n = np.uintp(B.shape[0]), np.uintp(y.shape[1])
            total = zeros(y, width)
            for k in range(begin, end):
                j = np.uintp(indices[k])
                if j < size:
                    total = add(total, at(weights, k), load(B, j * n + c, width))
            store(y, i * n + c, total)

        return gather

    return _over_columns(block_of, widths)


def make_scattered_row(add: Any, widths: tuple[int, ...]) -> Any:
    """Return the kernel that adds weight k times B[i] to y[indices[k]] over row i, as `make_gathered_row`."""

    def block_of(width: int) -> Any:
        @njit(forceinline=True)
        def scatter(weights: Any, indices: Any, begin: Any, end: Any, B: Any, y: Any, i: Any, c: Any) -> None:
            size, n = np.uintp(y.shape[0]), np.uintp(y.shape[1])
            values = load(B, i * n + c, width)
            for k in range(begin, end):
                j = np.uintp(indices[k])
                if j < size:
                    place = j * n + c
                    store(y, place, add(load(y, place, width), at(weights, k), values))

        return scatter

    return _over_columns(block_of, widths)


def _over_rows(row: Any) -> Any:
    """Return the kernel that runs `row` for the rows from `low` to `high`."""

    @njit
    def rows(data: Any, indices: Any, ends: Any, B: Any, y: Any, low: int, high: int) -> None:
        weights, nse = hoist(data), np.uintp(indices.size)
        for i in range(np.uintp(low), np.uintp(high)):
            begin, end = row_span(ends, i, nse)
            row(weights, indices, begin, end, B, y, i, np.uintp(0))

    return rows


@cache
def make_gather(add: Any, widths: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the kernels of Y = A @ B for one thread and for all."""
    return make_parallel(_over_rows(make_gathered_row(add, widths)))


@cache
def make_scatter(add: Any, widths: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the kernels of Y = A.T @ B for one thread and for all."""
    return make_parallel_sums(_over_rows(make_scattered_row(add, widths)))


def _over_columns(block_of: Callable[[int], Any], widths: tuple[int, ...]) -> Any:
    """Return the kernel that covers the columns from c on with blocks, the widest first."""
    width = widths[0]
    block = block_of(width)
    # Nested when compiled, not called in a loop: each width is code with a constant number of registers.
    narrower = _over_columns(block_of, widths[1:]) if len(widths) > 1 else None

    @njit(forceinline=True)
    def columns(weights: Any, indices: Any, begin: Any, end: Any, B: Any, y: Any, i: Any, c: Any) -> None:
        while c + np.uintp(width) <= np.uintp(y.shape[1]):
            block(weights, indices, begin, end, B, y, i, c)
            c += np.uintp(width)
        if narrower is not None:
            narrower(weights, indices, begin, end, B, y, i, c)

    return columns
