"""Products of a sparse matrix with a vector on a GPU, for CSR and ELLPACK alike.

One device function gives the entries of a row in its format, another what an entry contributes.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import (
    bounded,
    is_active,
    is_inside,
    launched,
    place,
    weight_in_order,
    widened,
)
from event_ops.kernels.numba_cuda.by_length import (
    ahead_of,
    lanes_of,
    make_begin,
    make_take_rows,
    reach,
    within,
)
from event_ops.kernels.numba_cuda.combine import add_for
from event_ops.kernels.numba_cuda.threads import BLOCK, OCCUPIED, WARPS, blocks_of, sum_dtype, sum_over_team


@cuda.jit(device=True)
def csr_row(indptr: Any, i: Any, nse: Any) -> Any:
    """Return where the entries of row i begin and end."""
    return bounded(indptr[np.uint64(i)], nse), bounded(indptr[np.uint64(i + 1)], nse)


@cuda.jit(device=True)
def ell_row(per_row: Any, i: Any, nse: Any) -> Any:
    """Return where the entries of row i begin and end if every row has `per_row` of them."""
    return np.int64(i * per_row), np.int64((i + 1) * per_row)


@cache
def of_number(weight_of: Any) -> Any:
    """Return the device function for the term of entry k in a product with a vector."""
    return cuda.jit(device=True)(lambda weights, k, v, j: weight_of(weights[0], k) * v[j])


@cache
def of_event(event_of: Any, weight_of: Any = weight_in_order) -> Any:
    """Return the device function for the term of entry k; weights of silent columns are not read."""

    @cuda.jit(device=True)
    def term(weights: Any, k: Any, events: Any, j: Any) -> Any:
        event, number = event_of(events, j), type(widened(weights[0].dtype.type(0)))
        return weight_of(weights, k) * number(event) if is_active(event) else number(0)

    return term


@cuda.jit(device=True)
def alike(x: Any, i: Any) -> Any:
    """Return the operand of the terms of row i: the same for all rows."""
    return x


@cuda.jit(device=True)
def beside_own(v: Any, i: Any) -> Any:
    """Return the operand of the terms of row i that read v[i], too."""
    return v, v[np.uint64(i)]


@cache
def of_difference(weight_of: Any) -> Any:
    """Return the device function for the term weight k * (v[j] - v[i]) of an entry of row i."""

    @cuda.jit(device=True)
    def term(weights: Any, k: Any, seen: Any, j: Any) -> Any:
        v, own_value = seen
        return weight_of(weights[0], k) * (v[j] - own_value)

    return term


@cache
def make_row_gather(lanes: int, ahead: int, row_of: Any, term: Any, dtype: Any, seen_by: Any = alike) -> Any:
    """Return the kernel `y[i] = sum of term(weights, k, seen_by(x, i), indices[k]) over row i`.

    Mostly by `lanes` threads. Weights are `launched`; `structure` is what `row_of` reads; x has `columns`
    elements. y is of `dtype`.
    """
    sums = sum_dtype(dtype)
    number, shared = sums.type, from_dtype(sums)

    def make_take(lanes: int) -> Any:
        total_of, begin = sum_over_team(lanes, 1, sums.kind), make_begin(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, lane: Any, mine: Any) -> None:
            weights, indices, x, columns, y, of_warp = operands
            total, terms = number(0), cuda.local.array(ahead, shared)
            js = cuda.local.array(ahead, indices.dtype)
            if mine and low < high and columns > 0:
                k, seen = begin(low) + lane, seen_by(x, i)
                while k - lane < high:
                    # No branch keeps loads apart: an entry that does not count reads what is near.
                    reached = reach(k, low, high)
                    for n in range(ahead):
                        js[n] = indices[np.uint64(k + within(n * lanes, reached))]
                    for n in range(ahead):
                        distance = within(n * lanes, reached)
                        counts = (distance == n * lanes) & is_inside(js[n], columns)
                        j = np.uint64(js[n] if counts else 0)
                        value = term(weights, np.uint64(k + distance), seen, j)
                        terms[n] = number(value) if counts else number(0)
                    # Numba widens sums and products of short integers; the total keeps its type.
                    for n in range(ahead):
                        total = number(total + terms[n])
                    k += ahead * lanes
            total = total_of(total, of_warp)
            if mine and lane == 0:
                y[np.uint64(i)] = y.dtype.type(total)

        return take

    take_rows = make_take_rows(1, lanes, row_of, make_take)

    @cuda.jit(launch_bounds=OCCUPIED)
    def gather_rows(
        data: Any, permutation: Any, indices: Any, structure: Any, x: Any, columns: Any, y: Any
    ) -> None:
        of_warp = cuda.shared.array(WARPS, shared)
        take_rows(((data, permutation), indices, x, columns, y, of_warp), structure, indices.size, y.size)

    return gather_rows


@cache
def make_row_scatter(lanes: int, ahead: int, row_of: Any, weight_of: Any, dtype: Any) -> Any:
    """Return the kernel `y[indices[k]] += weight_of(data, k) * v[i]` over row i; `lanes` threads for most."""
    add, number = add_for(dtype), from_dtype(dtype)

    def make_take(lanes: int) -> Any:
        begin = make_begin(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, lane: Any, mine: Any) -> None:
            data, indices, v, y = operands
            places, products = cuda.local.array(ahead, np.int64), cuda.local.array(ahead, number)
            if mine and low < high:
                value, k = v[np.uint64(i)], begin(low) + lane
                while k - lane < high:
                    # All is read before anything is added, behind which a load would wait.
                    reached = reach(k, low, high)
                    for n in range(ahead):
                        distance = within(n * lanes, reached)
                        near = np.uint64(k + distance)
                        j = place(indices[near], y.size)
                        places[n] = j if distance == n * lanes else -1
                        products[n] = weight_of(data, near) * value
                    for n in range(ahead):
                        if places[n] >= 0:
                            add(y, np.uint64(places[n]), products[n])
                    k += ahead * lanes

        return take

    take_rows = make_take_rows(1, lanes, row_of, make_take)

    @cuda.jit(launch_bounds=OCCUPIED)
    def scatter_rows(data: Any, indices: Any, structure: Any, v: Any, y: Any) -> None:
        take_rows((data, indices, v, y), structure, indices.size, v.size)

    return scatter_rows


def gather(
    weights: tuple[Any, ...], indices: Any, structure: Any, x: Any, columns: int, y: Any, stream: Any,
    term: Any, row_of: Any = csr_row, seen_by: Any = alike,
) -> None:  # fmt: skip
    """Launch `make_row_gather` for the mean length of rows; `weights` are data and, if any, a permutation.

    It is called within a function for `numba_cuda_callable`, as `scatter` is.
    """
    lanes = lanes_of(indices.size, y.size)
    ahead = ahead_of(indices.size, y.size * lanes)
    kernel = make_row_gather(lanes, ahead, row_of, term, y.dtype, seen_by)
    grid = blocks_of(y.size * lanes)
    kernel[grid, BLOCK, stream](*launched(*weights), indices, structure, x, np.int64(columns), y)


def scatter(
    data: Any,
    indices: Any,
    structure: Any,
    v: Any,
    y: Any,
    stream: Any,
    weight_of: Any,
    row_of: Any = csr_row,
) -> None:
    """Launch `make_row_scatter` for the mean length of rows, into a y that has been cleared."""
    lanes = lanes_of(indices.size, v.size)
    kernel = make_row_scatter(lanes, ahead_of(indices.size, v.size * lanes), row_of, weight_of, y.dtype)
    kernel[blocks_of(v.size * lanes), BLOCK, stream](data, indices, structure, v, y)
