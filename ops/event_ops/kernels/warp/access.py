"""Reading unchecked values: parameters, positions, indices, events and slots; bounds of weights."""

from typing import Any

import numpy as np
import warp as wp

# Parameters of generic kernels: arrays of any dtype.
Array, Array2d = wp.array(dtype=Any), wp.array2d(dtype=Any)


def as_vectors(tables: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return arrays that the source of a kernel names as constants of Warp, which has no arrays of these."""
    return {
        name: wp.constant(wp.types.vector(length=x.size, dtype=wp.dtype_from_numpy(x.dtype))(*x.tolist()))
        for name, x in tables.items()
    }


@wp.func
def at(x: Array, i: wp.int32) -> Any:
    """Return element i; an array of one element holds it for all."""
    return x[wp.min(i, x.shape[0] - 1)]


@wp.func
def weight_at(data: Array, permutation: Array, k: wp.int32) -> Any:
    """Return the weight of entry k, which a permutation that is not empty finds; 0 if out of range."""
    if permutation.shape[0] == 0:
        return at(data, k)
    i = place(permutation[k], data.shape[0])
    if i < 0:
        return data.dtype(0)
    return data[i]


@wp.func
def bounded(position: Any, size: wp.int32) -> wp.int32:
    """Return a position in [0, size]: `size` for any position outside."""
    wide = wp.int64(position)
    if wide < wp.int64(0) or wide > wp.int64(size):
        return size
    return wp.int32(wide)


@wp.func
def place(index: Any, size: wp.int32) -> wp.int32:
    """Return an index in [0, size) as it is, or -1."""
    wide = wp.int64(index)
    if wide < wp.int64(0) or wide >= wp.int64(size):
        return -1
    return wp.int32(wide)


@wp.func
def is_active(event: Any) -> bool:
    """Return True for True and for any number but 0, also for NaN."""
    return event != type(event)(0)


@wp.func
def slot_now(slot: Array, slots: wp.int32) -> wp.int32:
    """Return the current slot: `slot`, any integer, modulo the number of slots."""
    size = wp.int64(slots)
    rest = wp.int64(slot[0]) % size  # of the sign of the dividend, as in C
    return wp.int32((rest + size) % size)
