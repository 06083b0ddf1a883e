"""Uniform and normal numbers on a GPU, a neuron at a time: see kernels/reference/noise.py."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.random_numbers import random_functions
from ffi_bridge import numba_cuda_kernel


@cache
def make_kernel(distribution: str, stream: int) -> Any:
    """Return the kernel of y = base + scale * number; an array of bases is the same memory as y."""
    number = random_functions.numbers[distribution]

    @cuda.jit
    def noise_input(scale: Any, seed: Any, step: Any, first: Any, table: Any, base: Any, y: Any) -> None:
        i = cuda.grid(1)
        if i < y.size:
            drawn = number(np.uint64(first[()]) + np.uint64(i), stream, step[()], seed[()], table)
            y[i] = at(base, i) + at(scale, i) * y.dtype.type(drawn)

    return noise_input


def build_noise(distribution: str, *, outs: Any, stream: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that adds numbers of a distribution."""

    def call(scale: Any, *rest: Any) -> Any:
        kernel, *scalars, base = make_kernel(distribution, stream), *rest
        # A single base is no memory that y could have.
        aliases = {5: 0} if base.ndim else {}
        run = numba_cuda_kernel(kernel, outs, launch_dims=outs.size, input_output_aliases=aliases)
        return run(scale.reshape(-1), *scalars, base.reshape(-1))

    return call


normal_input, uniform_input = partial(build_noise, "normal"), partial(build_noise, "uniform")
