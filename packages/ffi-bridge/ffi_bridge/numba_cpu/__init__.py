"""Numba kernels on the CPU: from an `@njit` function to a native handler."""
