"""Warp kernels on CPU and GPU: from a `@wp.kernel` function to a native handler."""
