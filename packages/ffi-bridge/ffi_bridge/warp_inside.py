"""The inner names of Warp that the bridge uses: those that its public modules lack, in one place."""

from __future__ import annotations

from typing import Any

import warp as wp

try:
    from warp._src.context import (
        _build_kernel_launch_bounds,  # pyright: ignore[reportPrivateUsage]
        pack_arg,
    )
    from warp._src.types import array_t
except ImportError as error:
    raise ImportError(
        f"Warp {wp.__version__} does not have what ffi_bridge needs of it: {error}; install the newest "
        "release of ffi-bridge, or another one of warp-lang >= 1.18"
    ) from error

__all__ = ["array_annotation", "array_t", "launch_bounds", "pack_arg"]


def array_annotation(kind: Any) -> Any:
    """`wp.array(dtype=..., ndim=...)` for that and for `wp.array[...]`; None for any other annotation."""
    is_array = isinstance(kind, wp.array) or getattr(kind, "_concrete_cls", None) is wp.array
    if not is_array or kind.ndim is Any:  # which Warp launches for no array
        return None
    return wp.array(dtype=kind.dtype, ndim=kind.ndim)


def launch_bounds(dims: tuple[int, ...], kernel: Any, block_dim: int) -> bytes:
    """Warp's struct for launch dimensions; raises ValueError for those that `wp.tid()` cannot count."""
    return bytes(_build_kernel_launch_bounds(dims, kernel, block_dim))
