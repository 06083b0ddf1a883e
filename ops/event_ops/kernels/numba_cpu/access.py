"""Accessors that let one kernel serve arrays and single values, flags and numbers alike.

Numba picks a function by type when it compiles, not at run time. Where entries find their weights by a
permutation, a pair (weights, permutation) stands for the weights in order. Where the entries of a row are,
`ends` says: indptr of a CSR matrix, or a pair (rows, entries of each row).
"""

from functools import cache
from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.jit import INLINED, by_type, dtype_of, is_array, is_tuple, njit
from ffi_bridge.numba_cpu.float16_storage import HALVES


@by_type
def widened(value: Any) -> Any:
    """Return a float of 16 bits, in which Numba does not compute, as float32; any value else as it is."""
    return (lambda value: np.float32(value)) if dtype_of(value) in HALVES else (lambda value: value)


@by_type
def hoist(values: Any) -> Any:
    """Return the value of a 0-d array, or the array itself; call it in front of the loop."""
    if is_array(values) and values.ndim == 0:
        return lambda values: widened(values[()])
    if is_array(values) or is_tuple(values):
        return lambda values: values
    return lambda values: widened(values)  # inside prange Numba has turned a 0-d array into its value


@by_type
def at(hoisted: Any, i: Any) -> Any:
    """Return element i of the array from `hoist`, or the single value; 0 for a place out of range."""
    if is_array(hoisted):
        return lambda hoisted, i: widened(hoisted[i])
    if not is_tuple(hoisted):
        return lambda hoisted, i: hoisted
    dtype = dtype_of(hoisted[0])
    zero = (np.float32 if dtype in HALVES else dtype.type)(0)

    def weight_at(hoisted: Any, i: Any) -> Any:
        weights, permutation = hoisted
        # Unsigned: a negative place is out of range, too, and Numba adds no code to count it from the end.
        place = np.uintp(permutation[i])
        return widened(weights[place]) if place < np.uintp(weights.size) else zero

    return weight_at


@by_type
def weighted(weight: Any, event: Any) -> Any:
    """Return weight * event, and exactly 0 for an inactive event, whatever the weight is."""
    # A select of zero vectorises; an addition under a condition does not.
    kind = dtype_of(event).kind
    if kind == "b":
        return lambda weight, event: weight if event else type(weight)(0)
    if kind in "iu":
        return lambda weight, event: weight * type(weight)(event) if event else type(weight)(0)
    return lambda weight, event: weight * event if event else type(weight)(0)


@by_type
def product(x: Any, y: Any) -> Any:
    """x * y, and exactly 0 where one of them is False."""
    if dtype_of(x) == np.bool_:
        return lambda x, y: weighted(y, x)
    return (lambda x, y: weighted(x, y)) if dtype_of(y) == np.bool_ else (lambda x, y: x * y)


@by_type(**INLINED)
def row_count(ends: Any) -> Any:
    """Return how many rows a matrix has."""
    return (lambda ends: ends.size - 1) if is_array(ends) else (lambda ends: ends[0])


@by_type(**INLINED)
def row_span(ends: Any, i: Any, nse: Any) -> Any:
    """Return where the entries of row i begin and end, of a matrix of `nse` entries; all np.uintp."""
    # A row pointer is not checked: negative ends are huge as unsigned numbers, and all are cut to `nse`.
    if is_array(ends):
        return lambda ends, i, nse: (min(np.uintp(ends[i]), nse), min(np.uintp(ends[i + np.uintp(1)]), nse))
    return lambda ends, i, nse: (i * np.uintp(ends[1]), (i + np.uintp(1)) * np.uintp(ends[1]))


@by_type
def stored_spikes(spikes: Any) -> Any:
    """Return the array in which a loop stores spikes: bytes for bools, whose stores do not vectorise."""
    if dtype_of(spikes) == np.bool_:
        return lambda spikes: spikes.view(np.uint8)
    return lambda spikes: spikes


@cache
def permuted(kernel: Any, parallel: bool) -> Any:
    """Return the kernel of a product whose entry k has weight data[permutation[k]], from that of the product.

    One that is parallel has to be inlined: only the parallel regions of a kernel itself run without the GIL.
    """

    @njit(parallel=parallel)
    def product(data: Any, indices: Any, indptr: Any, events: Any, permutation: Any, y: Any) -> None:
        kernel((data, permutation), indices, indptr, events, y)

    return product
