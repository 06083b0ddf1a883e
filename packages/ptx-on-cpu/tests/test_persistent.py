"""Persistent kernels, whose blocks wait for each other at a barrier by atomics, checked for races."""

import numpy as np
import pytest
from compile_kernels import numba_parameters, of_numba
from numba import cuda

from ptx_on_cpu import Checks, LaunchError

STEPS = 6
CHECKS = Checks(initialised=True, races=True)
MISTAKES = [
    "no fence before the counter",
    "no fence behind the counter",
    "no barrier of the block before",
    "no barrier of the block behind",
    "one step without a barrier",
]


def kernel(mistake=""):
    """Return a kernel in which each thread exchanges sums with two threads in each step."""
    waits_before, waits_behind = (f"no barrier of the block {x}" != mistake for x in ("before", "behind"))
    fences_before, fences_behind = (f"no fence {x} the counter" != mistake for x in ("before", "behind"))
    left_out = 3 if mistake == "one step without a barrier" else -1

    @cuda.jit(device=True)
    def barrier(arrived, target):
        if waits_before:
            cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            if fences_before:
                cuda.threadfence()
            cuda.atomic.add(arrived, 0, 1)
            while cuda.atomic.add(arrived, 0, 0) < target:
                pass
            if fences_behind:
                cuda.threadfence()
        if waits_behind:
            cuda.syncthreads()

    def persistent(sums, last, arrived, met):
        i, n, phases = cuda.grid(1), cuda.gridsize(1), 0
        mine = i
        for step in range(STEPS):
            cuda.atomic.add(sums, (step % 3, (i + 1) % n), mine)
            cuda.atomic.add(sums, (step % 3, (i + n // 2 + 3) % n), 1)
            sums[(step + 2) % 3, i] = 0
            if step != left_out:
                phases += 1
                barrier(arrived, phases * cuda.gridDim.x)
            mine = sums[step % 3, i]
        last[i] = mine
        met[i] = phases

    return persistent


def run(mistake, blocks, threads, seed, **options):
    """Run a kernel, and return its last sums and the sums of a loop in NumPy."""
    n = blocks * threads
    arguments = tuple(np.zeros(shape, np.int32) for shape in ((3, n), (n,), (1,), (n,)))
    given = list(numba_parameters(arguments))
    of_numba(kernel(mistake), arguments, CHECKS).launch((blocks,), (threads,), given, seed=seed, **options)
    wanted = np.arange(n)
    for _ in range(STEPS):
        wanted = np.roll(wanted, 1) + 1
    return arguments[1], wanted


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("blocks", "threads"), [(2, 32), (4, 64), (70, 8)])
def test_a_barrier_of_block_leaders_is_no_race(blocks, threads, seed):
    found, wanted = run("", blocks, threads, seed, resident=blocks)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("blocks", "threads"), [(2, 32), (4, 64)])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_a_barrier_of_block_leaders_lacks_is_a_race(mistake, blocks, threads):
    with pytest.raises(LaunchError, match=r"kernel '.*persistent': a race at byte \d+ of argument 4"):
        run(mistake, blocks, threads, seed=1)


def test_a_cooperative_launch_of_more_blocks_than_run_at_once_is_refused():
    with pytest.raises(LaunchError, match=r"5 blocks, grid \(5, 1, 1\); all have to run at once, and 4 do"):
        run("", 5, 8, None, resident=4)
