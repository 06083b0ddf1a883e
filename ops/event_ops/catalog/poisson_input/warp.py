"""Poisson numbers in Warp: one thread per neuron."""

from collections.abc import Callable
from functools import cache
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at
from event_ops.kernels.warp.random_numbers import random_functions
from ffi_bridge import warp_kernel


@cache
def make_kernel(number_of: Any) -> Any:
    """Return the kernel for known or traced means, which adds to y."""

    @wp.kernel(enable_backward=False, module="unique")
    def poisson_input(
        weight: Array, seed: wp.array(dtype=wp.uint32), step: wp.array(dtype=wp.uint32),
        first: wp.array(dtype=wp.uint32), tables: wp.array(dtype=wp.uint32), which: Array, y: Array,
    ):  # fmt: skip
        i = wp.tid()
        number = number_of(at(which, i), tables, wp.int32(first[0]) + i, step[0], seed[0])
        y[i] = y[i] + at(weight, i) * y.dtype(number)

    return poisson_input


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; floats in `which` are means, integers name their tables."""

    def call(weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any) -> Any:
        is_mean = which.dtype.kind == "f"
        kernel = make_kernel(random_functions.traced_poisson if is_mean else random_functions.known_poisson)
        run = warp_kernel(kernel, outs, in_out_argnames=["y"])
        return run(weight, seed, step, first, tables, which, initial)

    return call
