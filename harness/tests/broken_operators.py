"""Operators that leave their arrays, or race, and right ones: `pytest --operators broken_operators`.

All are to give 2 * x, or sums of it.
"""

import jax
import numpy as np
import warp as wp
from numba import njit, prange

from event_ops.cases import BENCHMARK
from event_ops_harness.conformance import Case, Operator
from ffi_bridge import XLACustomKernel, numba_kernel, warp_kernel

SMALL, LARGE = 42, 4_000_000


@njit
def reads_beyond(x, y):
    for i in range(x.size):
        y[i] = 2 * x[i] + 0 * x[i + 1]


@wp.kernel
def writes_beyond(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]
    y[i + 1] = 0.0


@njit
def writes_far(x, y):
    for i in range(x.size):
        y[i] = 2 * x[i]
        y[i + (1 << 40)] = 0


@njit(parallel=True)
def doubles(x, y):
    for i in prange(x.size):
        y[i] = 2 * x[i]


@njit(parallel=True)
def reads_a_neighbour(x, y):
    y[0] = 2 * x[0]
    for i in prange(1, x.size):
        y[i] = y[i - 1] + 2 * (x[i] - x[i - 1])


@njit(parallel=True)
def adds_to_one(x, y):
    y[:] = 0
    for i in prange(x.size):
        y[i % y.size] += 2 * x[i]


@njit(parallel=True)
def adds_to_scratch(x, y):
    sums = np.zeros_like(y)
    for i in prange(x.size):
        sums[i % y.size] += 2 * x[i]
    for i in range(y.size):
        y[i] = sums[i]


@njit
def adds(x, y):
    y[:] = 0
    for i in range(x.size):
        y[i % y.size] += 2 * x[i]


@njit(parallel=True)
def adds_up(x, y):
    for i in prange(y.size):
        y[i] = 0
        for j in range(i, x.size, y.size):
            y[i] += 2 * x[j]


def case(size, outputs, *tags):
    """Inputs of so many elements, and so many outputs."""

    def make(rng, dtype, index_dtype):
        return (rng.random(size).astype(dtype),), {"outs": jax.ShapeDtypeStruct((outputs,), dtype)}

    return Case(f"of-{size}", make, *map(frozenset, tags), tolerance=1e3 if size > outputs else 1)


def operator(name, kernel, outputs=SMALL, large=None):
    """An operator with a Numba kernel, with another one for large inputs."""
    made = XLACustomKernel(name)
    made.def_reference(lambda *, outs, **_: lambda x: 2 * x.reshape(-1, *outs.shape).sum(0))

    @made.def_numba_kernel
    def numba_cpu(*, outs, **_):
        return lambda x: numba_kernel(kernel if x.size < LARGE else large, outs)(x)

    cases = (case(SMALL, outputs), *((case(LARGE, outputs, {BENCHMARK}),) if large else ()))
    return Operator(name, made, made, ("float32",), cases)


OPERATORS = (
    operator("reads_beyond", reads_beyond),
    operator("writes_far", writes_far),
    operator("reads_a_neighbour", reads_a_neighbour),
    operator("adds_to_one", adds_to_one, 3),
    operator("adds_to_scratch", adds_to_scratch, 3),
    operator("adds_to_one_if_large", adds, 2, adds_to_one),
    operator("doubles", doubles),
    operator("adds_up", adds_up, 2, adds_up),
)
OPERATORS[0].kernel.def_warp_kernel(lambda *, outs, **_: warp_kernel(writes_beyond, outs))
