"""Types of NVIDIA Warp for JAX shapes and dtypes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp
from jax.typing import DTypeLike

from ffi_bridge.errors import KernelTypeError

_WARP_TYPES: dict[np.dtype[Any], Any] = {
    np.dtype(dtype): warp_type
    for dtype, warp_type in [
        (jnp.bool_, wp.bool),
        (jnp.int8, wp.int8),
        (jnp.int16, wp.int16),
        (jnp.int32, wp.int32),
        (jnp.int64, wp.int64),
        (jnp.uint8, wp.uint8),
        (jnp.uint16, wp.uint16),
        (jnp.uint32, wp.uint32),
        (jnp.uint64, wp.uint64),
        (jnp.float16, wp.float16),
        (jnp.float32, wp.float32),
        (jnp.float64, wp.float64),
    ]
}
if hasattr(wp, "bfloat16"):
    _WARP_TYPES[np.dtype(jnp.bfloat16)] = wp.bfloat16


def jaxtype_to_warptype(dtype: DTypeLike) -> Any:
    """The Warp scalar type of a dtype: float32 -> `warp.float32`.

    Args:
        dtype: bool, int8 to int64, uint8 to uint64, float16, float32, float64, or bfloat16 where
            this Warp has it; a dtype, a scalar type or a name.

    Raises:
        KernelTypeError: Warp has no such scalar; lists those it has.
    """
    try:
        return _WARP_TYPES[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise KernelTypeError(
            f"Warp has no scalar type for {dtype!r}; it has: {', '.join(map(str, _WARP_TYPES))}"
        ) from None


def jaxinfo_to_warpinfo(info: jax.ShapeDtypeStruct) -> Any:
    """The annotation of a Warp kernel's array argument: `warp.array(dtype=..., ndim=len(shape))`.

    Args:
        info: anything with `shape` and `dtype`; of 1 to 4 dimensions.

    Raises:
        KernelTypeError: `info` is no such thing, has no dimension or more than 4, or Warp lacks the
            dtype.
    """
    if not (hasattr(info, "shape") and hasattr(info, "dtype")):
        raise KernelTypeError(f"got {info!r}; expected a jax.ShapeDtypeStruct(shape, dtype)")
    ndim = len(info.shape)
    if not 1 <= ndim <= 4:
        raise KernelTypeError(
            f"Warp arrays have 1 to 4 dimensions, got shape {tuple(info.shape)}; reshape it"
            + (" to (1,), or pass the value as a static argument" if ndim == 0 else "")
        )
    return wp.array(dtype=jaxtype_to_warptype(info.dtype), ndim=ndim)
