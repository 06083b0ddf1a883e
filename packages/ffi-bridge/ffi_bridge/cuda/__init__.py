"""CUDA for every toolchain: the driver, launches, and the handlers that launch."""

from ffi_bridge.cuda.driver import cuda_driver
from ffi_bridge.cuda.program import LAUNCH_TYPE

__all__ = ["LAUNCH_TYPE", "cuda_driver"]
