"""Warp kernels on CPU and GPU: from a `@wp.kernel` function to a native handler."""

from __future__ import annotations

from ffi_bridge.warp.cuda import machine_code

__all__ = ["machine_code"]
