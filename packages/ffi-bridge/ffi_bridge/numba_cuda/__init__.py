"""CUDA kernels written in Python: from an `@cuda.jit` function to launches on a stream of XLA."""
