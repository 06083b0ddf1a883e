"""Warp kernels on CPU and GPU: from a `@wp.kernel` function to a native handler."""

from ffi_bridge.warp.cuda import machine_code

__all__ = ["machine_code"]
