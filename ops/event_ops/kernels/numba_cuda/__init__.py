"""Device functions and kernels that the CUDA backends of several operators share."""
