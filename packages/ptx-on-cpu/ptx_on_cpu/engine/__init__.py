"""Machine code of kernels, and the scheduler that runs blocks and threads."""
