"""One pass over the entries of a CSR matrix on a GPU, each of which is written: rows stay together."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import is_inside
from event_ops.kernels.numba_cuda.by_length import clear_outside, lanes_of, make_begin, make_take_rows
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import (
    BLOCK,
    ENTRIES_PER_LANE,
    OCCUPIED,
    WARP,
    blocks_of,
    lanes_for,
    sum_over,
)
from event_ops.kernels.numba_cuda.wide import is_aligned, make_read_several, several_of
from ffi_bridge import numba_cuda_callable


@cuda.jit(device=True)
def of_numbers(x: Any, y: Any) -> Any:
    """Return x * y."""
    return x * y


@cuda.jit(device=True)
def of_event_rows(x: Any, y: Any) -> Any:
    """Return x * y for an x of 0 or 1: 0 even for a y of NaN."""
    return y if x else x


@cuda.jit(device=True)
def of_event_columns(x: Any, y: Any) -> Any:
    """Return x * y for a y of 0 or 1: 0 even for an x of NaN."""
    return x if y else y


UNSPILLED = BLOCK, 4  # leaves 64 registers to a thread: 48 spill 48 bytes, 64 spill 8
MOST_THREADS = 4  # of an entry of an SDDMM: with 8 it took an H100 1.45 times as long


@cache
def make_sddmm(product: Any, width: int, lanes: int, per: int, dtype: Any) -> Any:
    """Return the kernel out[k] = sum over c of product(X[i, c], Y[indices[k], c]) over row i.

    A row is mostly taken by `lanes` teams of `width` threads, each of which has an entry at a time, and `per`
    neighbouring columns.
    """
    number, real, total_of = np.dtype(dtype).type, from_dtype(dtype), sum_over(width)
    read_several = make_read_several(per, number)

    def make_take(lanes: int) -> Any:
        begin = make_begin(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            indices, X, Y, out, aligned = operands
            team, first = thread // width, thread % width
            xs, ys = cuda.local.array(per, real), cuda.local.array(per, real)
            if mine:  # or none of a warp, where threads add up together
                k = begin(low) + team
                # As often for every team of a warp: below they shuffle together.
                while k - team < high:
                    total = number(0)
                    if low <= k < high:
                        j = indices[np.uint64(k)]
                        if is_inside(j, Y.shape[0]):
                            c = np.uint64(first * per)
                            while c < np.uint64(X.shape[1]):
                                read_several(X, np.uint64(i), c, aligned, xs, 0)
                                read_several(Y, np.uint64(j), c, aligned, ys, 0)
                                for n in range(per):
                                    total = number(total + product(xs[n], ys[n]))
                                c += np.uint64(width * per)
                    total = total_of(total)
                    if low <= k < high and first == 0:
                        out[np.uint64(k)] = total
                    k += lanes

        return take

    take_rows = make_take_rows(width, lanes, csr_row, make_take)

    @cuda.jit(launch_bounds=UNSPILLED)
    def sddmm(indices: Any, indptr: Any, X: Any, Y: Any, out: Any) -> None:
        aligned = is_aligned(X) and is_aligned(Y)
        take_rows((indices, X, Y, out, aligned), indptr, out.size, X.shape[0])

    return sddmm


@cuda.jit(device=True)
def by_number(data: Any, k: Any, x: Any) -> Any:
    """Return data[k] * x."""
    return data[k] * x


@cuda.jit(device=True)
def by_event(data: Any, k: Any, x: Any) -> Any:
    """Return data[k], which is only read where x is True, or 0."""
    return data[k] if x else data.dtype.type(0)


@cache
def make_scale_rows(lanes: int, scaled: Any) -> Any:
    """Return the kernel out[k] = scaled(data, k, x[i]) over row i; mostly by `lanes` threads."""

    def make_take(lanes: int) -> Any:
        begin = make_begin(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, lane: Any, mine: Any) -> None:
            data, x, out = operands
            if mine:
                factor, k = x[np.uint64(i)], begin(low) + lane
                while k < high:
                    if k >= low:
                        out[np.uint64(k)] = scaled(data, np.uint64(k), factor)
                    k += lanes

        return take

    take_rows = make_take_rows(1, lanes, csr_row, make_take)

    @cuda.jit(launch_bounds=OCCUPIED)
    def scale_rows(data: Any, indptr: Any, x: Any, out: Any) -> None:
        take_rows((data, x, out), indptr, out.size, x.size)

    return scale_rows


def csr_sddmm(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; vectors are matrices of one column."""

    def launch(indices: Any, indptr: Any, X: Any, Y: Any, out: Any, stream: Any) -> None:
        clear_outside(indptr, out, stream)
        product = of_event_rows if X.dtype == bool else of_event_columns if Y.dtype == bool else of_numbers
        rows, columns = X.shape
        per = several_of(columns, outs.dtype)
        width = min(MOST_THREADS, lanes_for(ENTRIES_PER_LANE * (columns // per), 1, outs.dtype))
        lanes = lanes_of(out.size, rows) if width == 1 else WARP // width
        kernel = make_sddmm(product, width, lanes, per, outs.dtype)
        kernel[blocks_of(rows * width * lanes), BLOCK, stream](indices, indptr, X, Y, out)

    run = numba_cuda_callable(launch, outs)

    def call(indices: Any, indptr: Any, X: Any, Y: Any) -> Any:
        factors = [x.reshape(x.shape[0], *(x.shape[1:] or (1,))) for x in (X, Y)]
        return run(indices, indptr, *factors)

    return call


def csr_scale_rows(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""

    def scale(data: Any, indptr: Any, x: Any, out: Any, stream: Any) -> None:
        clear_outside(indptr, out, stream)
        lanes = lanes_of(out.size, x.size)
        kernel = make_scale_rows(lanes, by_event if x.dtype == bool else by_number)
        kernel[blocks_of(x.size * lanes), BLOCK, stream](data, indptr, x, out)

    return numba_cuda_callable(scale, outs)
