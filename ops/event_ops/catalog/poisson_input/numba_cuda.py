"""Poisson numbers on a GPU: one thread per neuron."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.random_numbers import random_functions
from ffi_bridge import numba_cuda_kernel


@cache
def make_kernel(number_of: Any) -> Any:
    """Return the kernel for known or traced means; initial and y are the same memory."""

    @cuda.jit
    def poisson_input(
        weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any, y: Any
    ) -> None:
        i = cuda.grid(1)
        if i < y.size:
            number = number_of(at(which, i), tables, np.int64(first[()]) + i, step[()], seed[()])
            y[i] += at(weight, i) * y.dtype.type(number)

    return poisson_input


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; floats in `which` are means, integers name their tables."""

    def call(weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any) -> Any:
        is_mean = which.dtype.kind == "f"
        kernel = make_kernel(random_functions.traced_poisson if is_mean else random_functions.known_poisson)
        run = numba_cuda_kernel(kernel, outs, launch_dims=outs.size, input_output_aliases={6: 0})
        return run(weight.reshape(-1), seed, step, first, tables, which.reshape(-1), initial)

    return call
