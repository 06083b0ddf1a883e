"""Run the PTX of CUDA kernels on a CPU: to test, check and count what the compiler really made."""

__version__ = "0.1.0"
