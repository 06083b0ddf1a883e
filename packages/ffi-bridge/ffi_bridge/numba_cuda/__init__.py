"""CUDA kernels written in Python: from an `@cuda.jit` function to launches on a stream of XLA."""

from ffi_bridge.numba_cuda.compile import array_type, compile_kernel

__all__ = ["array_type", "compile_kernel"]
