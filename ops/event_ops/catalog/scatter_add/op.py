"""The operator `scatter_add`: checks, backends, derivatives."""

from __future__ import annotations

from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.typing import ArrayLike

from event_ops.checks import (
    INTEGERS,
    NUMBERS,
    as_array,
    check_dtype,
    check_same_dtype,
    check_shape,
)
from ffi_bridge import XLACustomKernel


def scatter_add(
    target: ArrayLike, indices: ArrayLike, updates: ArrayLike, *, backend: str | None = None
) -> jax.Array:
    """`y = target; y[indices[k]] += updates[k]` for every k, also where indices repeat.

    A negative index counts from the end; one that is out of range then is dropped, as in JAX's
    `target.at[indices].add(updates)`. Differentiable in target and updates.

    Args:
        target: (n, ...), what is added to; any real, complex or integer dtype that JAX has from 32 bits up.
        indices: any shape, integers into the first axis of target.
        updates: indices.shape + target.shape[1:], or 0-d or a number: the same for all; dtype of target.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: shape and dtype of target. The order of the sum, so its rounding, is open.

    Raises:
        TypeError: a dtype that is not taken, or target and updates of different ones.
        ValueError: target is 0-d, or updates has another shape.
    """
    target, indices = as_array(target), as_array(indices)
    numeric = isinstance(updates, (int, float, complex))
    updates = jnp.asarray(updates, target.dtype) if numeric else as_array(updates)
    _check(target, indices, updates)
    row = target.shape[1:]
    flat = target.reshape(target.shape[0], prod(row)) if row else target
    if updates.ndim:
        updates = updates.reshape((indices.size, *flat.shape[1:]))
    outs = jax.ShapeDtypeStruct(flat.shape, flat.dtype)
    return kernel(flat, indices.reshape(-1), updates, outs=outs, backend=backend).reshape(target.shape)


def _check(target: jax.Array, indices: jax.Array, updates: jax.Array) -> None:
    check_dtype("target", target, NUMBERS)
    check_dtype("indices", indices, INTEGERS)
    check_same_dtype("updates", updates, "target", target)
    if target.ndim == 0:
        raise ValueError("target is 0-d; expected at least one axis to index; use target.reshape(1)")
    whole = indices.shape + target.shape[1:]
    check_shape("updates", updates, whole, (), why="indices.shape + target.shape[1:], or one number")


kernel = XLACustomKernel("scatter_add")
kernel.def_tags("scatter")
kernel.def_reference("event_ops.catalog.scatter_add.reference:generator")
kernel.def_numba_kernel("event_ops.catalog.scatter_add.numba_cpu:generator")


def _target_tangent(tangent: Any, target: Any, indices: Any, updates: Any, **params: Any) -> Any:
    return tangent


def _updates_tangent(tangent: Any, target: Any, indices: Any, updates: Any, **params: Any) -> Any:
    return kernel(jnp.zeros_like(target), indices, tangent, **params)


kernel.def_jvp_rule2(_target_tangent, None, _updates_tangent)


@kernel.def_transpose_rule
def _transpose(ct: Any, target: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    ct_target = ct if ad.is_undefined_primal(target) else None
    ct_updates = None
    if ad.is_undefined_primal(updates):
        gathered = _gather(jnp.asarray(ct), indices)
        ct_updates = gathered if updates.aval.ndim else gathered.sum()
    return [ct_target, None, ct_updates]


def _gather(ct: jax.Array, indices: jax.Array) -> jax.Array:
    """What each update was added to; 0 for those that were dropped."""
    if ct.shape[0] == 0:  # JAX refuses to look anything up in an empty array
        return jnp.zeros(indices.shape + ct.shape[1:], ct.dtype)
    return ct.at[indices].get(mode="fill", fill_value=0)
