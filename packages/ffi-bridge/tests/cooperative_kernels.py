"""Kernels whose blocks wait for each other: sum(x) - x in one launch of any grid."""

from numba import cuda

PATIENCE = 1 << 22  # turns: a barrier that nobody comes to fails a test, and hangs no GPU


@cuda.jit(device=True)
def share_of_sum(x, b, blocks):
    """Sum the elements that block b of many takes."""
    total = x[0] * 0
    for i in range(b, x.size, blocks):
        total += x[i]
    return total


@cuda.jit(device=True)
def subtract(x, shares, y, blocks):
    """Subtract from the sum of the shares of all blocks."""
    total = x[0] * 0
    for b in range(cuda.gridDim.x):
        total += shares[b]
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = total - x[i]
    blocks[0] = cuda.gridDim.x


@cuda.jit(max_registers=32)  # 2048 threads on a multiprocessor
def others(x, shares, y, blocks):
    """Wait by the grid's own barrier."""
    if cuda.threadIdx.x == 0:
        shares[cuda.blockIdx.x] = share_of_sum(x, cuda.blockIdx.x, cuda.gridDim.x)
    cuda.cg.this_grid().sync()
    subtract(x, shares, y, blocks)


@cuda.jit(max_registers=32)
def others_by_counter(x, zero, arrived, shares, y, blocks):
    """Wait until a counter says that all blocks have come; `zero` and `arrived` are the same memory."""
    if cuda.threadIdx.x == 0:
        shares[cuda.blockIdx.x] = share_of_sum(x, cuda.blockIdx.x, cuda.gridDim.x)
        cuda.threadfence()
        cuda.atomic.add(arrived, 0, 1)
        turns = 0
        while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x and turns < PATIENCE:
            turns += 1
        cuda.threadfence()
    cuda.syncthreads()
    subtract(x, shares, y, blocks)
