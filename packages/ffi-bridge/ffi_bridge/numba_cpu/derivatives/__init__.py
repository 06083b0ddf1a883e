"""Derivatives of Numba kernels: Enzyme makes them of the code that Numba makes."""
