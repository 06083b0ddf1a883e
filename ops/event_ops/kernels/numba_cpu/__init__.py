"""Pieces that the operators' Numba kernels are composed of; imported only by `numba_cpu.py` files."""
