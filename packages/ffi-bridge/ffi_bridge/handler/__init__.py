"""Machine code between XLA's call frame and a kernel."""
