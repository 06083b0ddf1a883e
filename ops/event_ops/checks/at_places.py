"""Check the arguments of scatters and of reductions of segments, and call their kernels."""

from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import INTEGERS, as_array, check_dtype, check_rank, check_same_dtype, check_shape
from event_ops.checks.inputs import as_input, flattened, in_dtype, reshaped
from event_ops.checks.keywords import known_flags, known_size, resolved_mode
from ffi_bridge import XLACustomKernel


def scatter(
    kernel: XLACustomKernel,
    target: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    dtypes: Sequence[str],
    mode: str,
    backend: str | None,
    **static: Any,
) -> jax.Array:
    """Return `target`, which has one of `dtypes`, after `kernel` has put the updates into it."""
    as_given = indices
    target, indices = as_array(target), as_array(indices)
    updates = _as_updates(updates, target.dtype)
    check_dtype("target", target, dtypes)
    check_dtype("indices", indices, INTEGERS)
    check_same_dtype("updates", updates, "target", target)
    if target.ndim == 0:
        raise ValueError("target is 0-d; expected at least one axis to index; use target.reshape(1)")
    whole = indices.shape + target.shape[1:]
    check_shape("updates", updates, whole, (), why="indices.shape + target.shape[1:], or one number")
    mode = resolved_mode(mode, "indices", as_given, -target.shape[0], target.shape[0])
    row = target.shape[1:]
    flat = reshaped(target, (target.shape[0], prod(row))) if row else target
    if updates.ndim:
        updates = reshaped(updates, (indices.size, *flat.shape[1:]))
    outs = jax.ShapeDtypeStruct(flat.shape, flat.dtype)
    y = kernel(flat, *flattened([indices]), updates, outs=outs, mode=mode, backend=backend, **static)
    return reshaped(y, target.shape)


def _as_updates(updates: Any, dtype: Any) -> jax.Array:
    """Return `updates` as an array, a number in the dtype of target; raise TypeError if it does not fit."""
    if not isinstance(updates, (int, float, complex)):
        return as_input(updates)
    kind, kinds = np.asarray(updates).dtype.kind, "biufc"
    if kinds.find(kind) > kinds.find(dtype.kind):
        raise TypeError(
            f"updates is {updates!r}, and target has dtype {dtype}; expected a number of its kind; cast "
            f"target: target.astype('{jax.dtypes.canonicalize_dtype(type(updates))}')"
        )
    return in_dtype(updates, dtype)


def reduce_segments(
    kernel: XLACustomKernel,
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    dtypes: Sequence[str],
    mode: str,
    backend: str | None,
    indices_are_sorted: bool,
    **static: Any,
) -> jax.Array:
    """Return the result of `kernel` for each segment of `data`, which has one of `dtypes`."""
    data, segment_ids, size, mode = checked_segments(data, segment_ids, num_segments, dtypes, mode)
    static["mode"] = mode
    static |= known_flags(indices_are_sorted=indices_are_sorted)
    row = data.shape[1:]
    flat = reshaped(data, (data.shape[0], prod(row))) if row else data
    outs = jax.ShapeDtypeStruct((size, *flat.shape[1:]), flat.dtype)
    return reshaped(kernel(flat, segment_ids, outs=outs, backend=backend, **static), (size, *row))


def checked_segments(
    data: ArrayLike, segment_ids: ArrayLike, num_segments: int, dtypes: Sequence[str], mode: str
) -> tuple[jax.Array, jax.Array, int, str]:
    """Return data and ids as arrays, the number of segments, and the mode for kernels; check known ids."""
    as_given = segment_ids
    data, segment_ids = as_array(data), as_array(segment_ids)
    check_dtype("data", data, dtypes)
    check_dtype("segment_ids", segment_ids, INTEGERS)
    check_rank("segment_ids", segment_ids, 1, "one id per element or row of data")
    if data.shape[:1] != segment_ids.shape:
        raise ValueError(
            f"data has shape {data.shape} and segment_ids {segment_ids.shape}; expected one id per element "
            "of the first axis of data"
        )
    size = known_size("num_segments", num_segments)
    return data, segment_ids, size, resolved_mode(mode, "segment_ids", as_given, 0, size)
