"""Uniform and normal numbers in Warp, a neuron at a time: see kernels/reference/noise.py."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.warp.access import Array, at
from event_ops.kernels.warp.random_numbers import random_functions
from ffi_bridge import warp_kernel


@cache
def make_kernel(distribution: str, stream: int) -> Any:
    """Return the kernel of y = base + scale * number, where y holds base at first."""
    number = random_functions.numbers[distribution]
    chosen = wp.constant(stream)

    @wp.kernel(enable_backward=False, module="unique")
    def noise_input(
        scale: Array, seed: wp.array(dtype=wp.uint32), step: wp.array(dtype=wp.uint32),
        first: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.int32), y: Array,
    ):  # fmt: skip
        i = wp.tid()
        drawn = number(wp.int32(first[0]) + i, chosen, step[0], seed[0], table)
        y[i] = y[i] + at(scale, i) * y.dtype(drawn)

    return noise_input


def build_noise(distribution: str, *, outs: Any, stream: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that adds numbers of a distribution."""
    run = warp_kernel(make_kernel(distribution, stream), outs, in_out_argnames=["y"])
    return lambda *arrays: run(*arrays[:-1], jnp.broadcast_to(arrays[-1], outs.shape))


normal_input, uniform_input = partial(build_noise, "normal"), partial(build_noise, "uniform")
