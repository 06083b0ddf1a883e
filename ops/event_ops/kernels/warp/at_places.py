"""Updates combined at places in Warp: one thread for each element, also where indices ascend."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference.at_places import of_numbers, operators_of
from event_ops.kernels.warp.access import Array, Array2d
from ffi_bridge import warp_kernel


@wp.func
def scatter_place(index: Any, size: wp.int32, clip: bool, from_end: bool) -> wp.int32:
    """Return the place of an index in [0, size), or -1; with `clip` the nearest end, unless size is 0."""
    wide = wp.int64(index)
    extent = wp.int64(size)
    if index < type(index)(0):
        if from_end:
            wide += extent
    elif wide < wp.int64(0):  # an unsigned index too large for int64
        wide = extent
    if clip:
        wide = wp.clamp(wide, wp.int64(0), extent - wp.int64(1))
    if wide < wp.int64(0) or wide >= extent:
        return -1
    return wp.int32(wide)


@wp.func
def update_at(updates: Array2d, k: wp.int32, c: wp.int32) -> Any:
    """Return update k in column c; a single one for all has one row and one column."""
    return updates[wp.min(k, updates.shape[0] - 1), wp.min(c, updates.shape[1] - 1)]


@wp.func
def put_sum(y: Array2d, j: wp.int32, c: wp.int32, update: Any):
    wp.atomic_add(y, j, c, y.dtype(update))


@wp.func
def put_larger(y: Array2d, j: wp.int32, c: wp.int32, update: Any):
    wp.atomic_max(y, j, c, update)


@wp.func
def put_smaller(y: Array2d, j: wp.int32, c: wp.int32, update: Any):
    wp.atomic_min(y, j, c, update)


@wp.func
def put_product(y: Array2d, j: wp.int32, c: wp.int32, update: Any):
    """y[j, c] *= update; y holds the bits of numbers, as integers."""
    guess = wp.cast(type(update)(1), y.dtype)  # with which products of segments begin
    # As bits: of numbers a NaN differs from itself, and the loop would not end.
    stored = wp.atomic_cas(y, j, c, guess, wp.cast(update, y.dtype))
    while stored != guess:
        guess = stored
        product = wp.cast(guess, type(update)) * update
        stored = wp.atomic_cas(y, j, c, guess, wp.cast(product, y.dtype))


PUT = {"add": put_sum, "max": put_larger, "min": put_smaller, "mul": put_product}


@cache
def make_kernel(how: str) -> Any:
    """Return the kernel of a combination."""
    put = PUT[how]

    @wp.kernel(enable_backward=False, module="unique")
    def combine_at_places(indices: Array, updates: Array2d, clip: bool, from_end: bool, y: Array2d):
        k, c = wp.tid()
        j = scatter_place(indices[k], y.shape[0], clip, from_end)
        if j >= 0:
            put(y, j, c, update_at(updates, k, c))

    return combine_at_places


def by_atomics(how: str, mode: str, from_end: bool, _ascending: bool) -> Callable[..., jax.Array]:
    """Return `(target, indices, updates) -> y` by "add", of integers "max" or "min", of bits "mul".

    Target and y may be the same memory.
    """

    def call(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
        shape = (target.shape[0], target.shape[1] if target.ndim > 1 else 1)
        into, rows = _widened(target.reshape(shape)), _widened(updates)
        run = warp_kernel(
            make_kernel(how),
            jax.ShapeDtypeStruct(shape, into.dtype),
            launch_dims=(indices.size, shape[1]),
            in_out_argnames=["y"],
        )
        rows = rows.reshape((indices.size, shape[1]) if updates.ndim else (1, 1))
        return run(indices, rows, mode == "clip", from_end, into).astype(target.dtype).reshape(target.shape)

    return call


def _widened(x: jax.Array) -> jax.Array:
    """Return x with 32 bits or more, which atomics need; integers wrap round to the same results."""
    return x.astype(jnp.int32) if x.dtype.itemsize < 4 else x


_scatters, _segments = operators_of(of_numbers(by_atomics))
scatter_add, scatter_mul, scatter_min, scatter_max = _scatters
segment_sum, segment_min, segment_max = _segments
