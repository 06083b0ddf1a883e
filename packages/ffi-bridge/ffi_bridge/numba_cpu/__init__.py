"""Numba kernels on the CPU: from an `@njit` function to a native handler."""

from ffi_bridge.numba_cpu.internals import GET_NUM_THREADS, SET_CHUNK_SIZE, as_dtype, config

__all__ = ["GET_NUM_THREADS", "SET_CHUNK_SIZE", "as_dtype", "config"]
