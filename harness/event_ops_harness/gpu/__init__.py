"""What needs an NVIDIA GPU: tests and figures, each step in a process of its own."""
