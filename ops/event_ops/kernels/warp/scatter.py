"""Many threads that update one array at once: with rows of active events, or at unchecked indices."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, bounded, is_active, place, weight_at
from ffi_bridge import warp_kernel

IN_ORDER = np.zeros(0, np.int32)  # the permutation of entries whose weights are in their own order


def sums_of(kernel: Any, outs: Any, launch_dims: Any) -> Callable[..., jax.Array]:
    """Return `f(*ins)`, the sums that the threads of `kernel(*ins, y)` add to zeros by `warp.atomic_add`."""
    # Warp adds atomically from 32 bits up; integers wrap round to the same sums.
    narrow = outs.dtype.itemsize < 4
    dtype = jnp.dtype(jnp.int32) if narrow else outs.dtype
    wide = jax.ShapeDtypeStruct(outs.shape, dtype)
    add = warp_kernel(kernel, wide, launch_dims=launch_dims, in_out_argnames=["y"])

    def call(*ins: Any) -> jax.Array:
        cast = [x.astype(dtype) if narrow and x.dtype == outs.dtype else x for x in ins]
        return add(*cast, jnp.zeros(outs.shape, dtype)).astype(outs.dtype)

    return call


@wp.kernel(enable_backward=False)
def scatter_rows(
    data: Array, permutation: Array, indices: Array, indptr: Array, x: Array2d, events: bool, y: Array2d
):
    """y += A.T @ x, one thread per row and column of x; an event of 0 hides its weights."""
    i, c = wp.tid()
    nse = indices.shape[0]
    if is_active(x[i, c]) or not events:
        value = y.dtype(x[i, c])
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(indices[k], y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, c, weight_at(data, permutation, k) * value)


def add_event_rows(y: jax.Array, data: Any, indices: Any, indptr: Any, events: Any) -> jax.Array:
    """Return y + A.T @ events, for y of any shape laid flat, in place where y is not needed again."""
    flat = jax.ShapeDtypeStruct((y.size, 1), y.dtype)
    run = warp_kernel(scatter_rows, flat, launch_dims=(events.size, 1), in_out_argnames=["y"])
    weights = data.reshape(-1).astype(y.dtype)
    return run(weights, IN_ORDER, indices, indptr, events.reshape(-1, 1), True, y.reshape(-1, 1)).reshape(
        y.shape
    )


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


@wp.kernel(enable_backward=False)
def add_at_places(indices: Array, updates: Array2d, clip: bool, from_end: bool, y: Array2d):
    k, c = wp.tid()
    j = scatter_place(indices[k], y.shape[0], clip, from_end)
    if j >= 0:
        wp.atomic_add(y, j, c, y.dtype(update_at(updates, k, c)))


@wp.kernel(enable_backward=False)
def max_at_places(indices: Array, updates: Array2d, clip: bool, from_end: bool, y: Array2d):
    k, c = wp.tid()
    j = scatter_place(indices[k], y.shape[0], clip, from_end)
    if j >= 0:
        wp.atomic_max(y, j, c, update_at(updates, k, c))


@wp.kernel(enable_backward=False)
def min_at_places(indices: Array, updates: Array2d, clip: bool, from_end: bool, y: Array2d):
    k, c = wp.tid()
    j = scatter_place(indices[k], y.shape[0], clip, from_end)
    if j >= 0:
        wp.atomic_min(y, j, c, update_at(updates, k, c))


@wp.kernel(enable_backward=False)
def mul_at_places(indices: Array, updates: Array2d, clip: bool, from_end: bool, y: Array2d):
    """y *= updates where indices point; y holds the bits of numbers, as integers."""
    k, c = wp.tid()
    j = scatter_place(indices[k], y.shape[0], clip, from_end)
    if j >= 0:
        update = update_at(updates, k, c)
        guess = wp.cast(type(update)(1), y.dtype)
        found = wp.atomic_cas(y, j, c, guess, wp.cast(update, y.dtype))
        while found != guess:
            guess = found
            product = wp.cast(guess, updates.dtype) * update
            found = wp.atomic_cas(y, j, c, guess, wp.cast(product, y.dtype))


AT_PLACES = {"add": add_at_places, "max": max_at_places, "min": min_at_places, "mul": mul_at_places}


def scatter(how: str, mode: str, from_end: bool, _ascending: bool = False) -> Callable[..., jax.Array]:
    """Return `(target, indices, updates) -> y` by "add", of integers "max" or "min", of bits "mul".

    Target and y may be the same memory.
    """

    def call(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
        shape = (target.shape[0], target.shape[1] if target.ndim > 1 else 1)
        into, rows = _widened(target.reshape(shape)), _widened(updates)
        run = warp_kernel(
            AT_PLACES[how],
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
