"""CUDA for every toolchain: the driver, launches, and the handlers that launch."""
