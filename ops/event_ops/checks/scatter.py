"""Check the arguments of scatters, and call their kernels on a target with at most two axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import INTEGERS, as_array, check_dtype, check_same_dtype, check_shape
from event_ops.checks.inputs import as_input, flattened, in_dtype, reshaped
from event_ops.checks.keywords import resolved_mode
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
    """Return `target`, which has one of `dtypes`, with what `kernel` makes of the updates."""
    given = indices
    target, indices = as_array(target), as_array(indices)
    updates = _as_updates(updates, target.dtype)
    _check(target, indices, updates, dtypes)
    mode = resolved_mode(mode, "indices", given, -target.shape[0], target.shape[0])
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


def _check(target: jax.Array, indices: jax.Array, updates: jax.Array, dtypes: Sequence[str]) -> None:
    check_dtype("target", target, dtypes)
    check_dtype("indices", indices, INTEGERS)
    check_same_dtype("updates", updates, "target", target)
    if target.ndim == 0:
        raise ValueError("target is 0-d; expected at least one axis to index; use target.reshape(1)")
    whole = indices.shape + target.shape[1:]
    check_shape("updates", updates, whole, (), why="indices.shape + target.shape[1:], or one number")
