"""Warp functions that the catalog's kernels are made of; they serve the CPU and CUDA alike."""
