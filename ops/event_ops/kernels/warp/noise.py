"""Uniform and normal numbers in Warp, a neuron at a time: see kernels/reference/noise.py."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference import noise
from event_ops.kernels.warp.access import Array, at
from event_ops.kernels.warp.random_numbers import philox2x32
from ffi_bridge import warp_kernel

_BLOCK = wp.constant(noise.BLOCK)
_STREAM_BIT = wp.constant(wp.uint32(noise.STREAM_BIT))
_NORMAL = wp.constant(wp.uint32(noise.DOMAINS["normal"]))
_UNIFORM = wp.constant(wp.uint32(noise.DOMAINS["uniform"]))
_EXPONENT_SHIFT = wp.constant(noise.EXPONENT_SHIFT)
_PLACE_SHIFT = wp.constant(noise.PLACE_SHIFT)
_FIRST_ENTRY = wp.constant(noise.FIRST_ENTRY)
_PLACE_MASK = wp.constant(noise.PLACE_MASK)
_BEGIN_MASK = wp.constant(~noise.PLACE_MASK)
_NORMAL_SCALE = wp.constant(noise.NORMAL_SCALE)
_UNIFORM_SCALE = wp.constant(noise.UNIFORM_SCALE)
_SHIFT = wp.constant(wp.uint32(32 - noise.UNIFORM_BITS))


@wp.func
def word_of(neuron: wp.int32, stream: wp.int32, time: wp.uint32, key: wp.uint32) -> wp.uint32:
    """Return the word of a neuron."""
    half = neuron / _BLOCK
    counter = (half / 2) * _BLOCK + neuron % _BLOCK
    first, second = philox2x32((wp.uint32(stream) << _STREAM_BIT) + wp.uint32(counter), time, key)
    return wp.where(half % 2 == 0, first, second)


@wp.func
def normal(
    neuron: wp.int32, stream: wp.int32, time: wp.uint32, seed: wp.uint32, table: wp.array(dtype=wp.int32)
) -> wp.float32:
    """Return the normal number of a neuron."""
    word = word_of(neuron, stream, time, seed ^ _NORMAL)
    tail = wp.int32((word & wp.uint32(0x7FFFFFFF)) | wp.uint32(1))
    bits = wp.cast(wp.float32(tail), wp.int32)
    entry = table[(bits >> _EXPONENT_SHIFT) - _FIRST_ENTRY]
    fall = (entry & _PLACE_MASK) * ((bits >> _PLACE_SHIFT) & _PLACE_MASK)
    size = wp.float32((entry & _BEGIN_MASK) - fall) * _NORMAL_SCALE
    return wp.where((word >> wp.uint32(31)) == wp.uint32(1), -size, size)


@wp.func
def uniform(
    neuron: wp.int32, stream: wp.int32, time: wp.uint32, seed: wp.uint32, table: wp.array(dtype=wp.int32)
) -> wp.float32:
    """Return the uniform number of a neuron."""
    word = word_of(neuron, stream, time, seed ^ _UNIFORM)
    return wp.float32(wp.int32(word >> _SHIFT)) * _UNIFORM_SCALE


NUMBERS = {"normal": normal, "uniform": uniform}


@cache
def kernel_with(distribution: str, stream: int) -> Any:
    """Return the kernel of y = base + scale * number, where y holds base at first."""
    number = NUMBERS[distribution]
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


def build_with(distribution: str, *, outs: Any, stream: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that adds numbers of a distribution."""
    run = warp_kernel(kernel_with(distribution, stream), outs, in_out_argnames=["y"])
    return lambda *arrays: run(*arrays[:-1], jnp.broadcast_to(arrays[-1], outs.shape))


normal_input, uniform_input = partial(build_with, "normal"), partial(build_with, "uniform")
