"""Kernels in processes that are spawned after first use in their parent, which goes on using them."""

import multiprocessing

import jax
import numpy as np
from parallel_kernels import X, add_parallel, add_serial, adds


def total(shift: float) -> float:
    """The sum of X + (X + shift), by both kernels."""
    sums = [
        float(np.asarray(jax.jit(adds(k))(X, X + np.float32(shift))).sum())
        for k in (add_serial, add_parallel)
    ]
    assert sums[0] == sums[1]
    return sums[0]


if __name__ == "__main__":
    before = [total(i) for i in range(4)]
    pending = [jax.jit(adds(add_parallel))(X, X + i) for i in range(20)]  # in flight while children start
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        result = pool.map_async(total, range(4))
        during = [total(i) for i in range(4)]
        assert result.get() == before == during == [total(i) for i in range(4)]
    for i, y in enumerate(pending):
        np.testing.assert_array_equal(y, X + (X + i))
    print(len(before))
