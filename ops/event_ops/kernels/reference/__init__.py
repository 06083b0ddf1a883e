"""Pieces in pure JAX and NumPy, of which references are made, and with which kernels agree."""
