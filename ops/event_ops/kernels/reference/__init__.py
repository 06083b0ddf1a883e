"""Pieces in pure JAX and NumPy: what references compute with, and what kernels agree with."""
