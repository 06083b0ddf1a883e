"""What operators that take functions of scalars have in common: backends, and values that go by name."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import FLOATS, check_dtype, check_same_dtype
from event_ops.checks.inputs import as_input, in_dtype
from event_ops.codegen.primitives import LACKED_BY_WARP
from ffi_bridge import XLACustomKernel


def define_kernel(name: str, room: str, *tags: str, reference: str = "build") -> XLACustomKernel:
    """Return the kernel whose backends are in the modules of a room; `reference` is its function there."""
    kernel = XLACustomKernel(name)
    kernel.def_tags(*tags)
    kernel.def_tuning("event_ops:tuning")
    kernel.def_reference(f"{room}.reference:{reference}")
    kernel.def_numba_kernel(f"{room}.numba_cpu:build")
    kernel.def_numba_cuda_kernel(f"{room}.numba_cuda:build")
    lacks = tuple(f"primitive={name}" for name in LACKED_BY_WARP)
    for platform in ("gpu", "cpu"):
        kernel.def_kernel("warp", platform, f"{room}.warp:build", lacks=lacks)
    return kernel


def as_variable(name: str, value: Any, like_name: str, like: jax.Array) -> jax.Array:
    """Return a variable as an array: a number in the dtype of `like`, an array in its own, that or bool."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return in_dtype(value, like.dtype)
    array = as_input(value, name)
    if array.dtype != bool:
        check_dtype(name, array, FLOATS)
        check_same_dtype(name, array, like_name, like)
    return array
