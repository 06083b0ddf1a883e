"""Uniform and normal numbers on a GPU, a neuron at a time: see kernels/reference/noise.py."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.random_numbers import philox2x32
from event_ops.kernels.reference import noise
from ffi_bridge import numba_cuda_kernel

_BLOCK_BITS: Final = np.uint64(noise.BLOCK.bit_length() - 1)
_IN_BLOCK: Final = np.uint64(noise.BLOCK - 1)
_STREAM_BIT: Final = np.uint64(noise.STREAM_BIT)
_ONE: Final = np.uint64(1)
_LOW: Final = np.uint64(0x7FFFFFFF)
_SIGN_BIT: Final = np.uint64(31)
_EXPONENT_SHIFT, _PLACE_SHIFT = np.int32(noise.EXPONENT_SHIFT), np.int32(noise.PLACE_SHIFT)
_FIRST_ENTRY, _PLACE_MASK = np.int32(noise.FIRST_ENTRY), np.int32(noise.PLACE_MASK)
_NORMAL_SCALE, _UNIFORM_SCALE = np.float32(noise.NORMAL_SCALE), np.float32(noise.UNIFORM_SCALE)
_SHIFT: Final = np.uint64(32 - noise.UNIFORM_BITS)


@cache
def word_with(distribution: str) -> Any:
    """Return the device function that gives the word of a neuron, as uint64."""
    domain = np.uint64(noise.DOMAINS[distribution])

    @cuda.jit(device=True)
    def word_of(neuron: Any, stream: Any, time: Any, seed: Any) -> Any:
        i = np.uint64(neuron)
        counter = (i >> (_BLOCK_BITS + _ONE) << _BLOCK_BITS) + (i & _IN_BLOCK)
        first, second = philox2x32(
            (np.uint64(stream) << _STREAM_BIT) + counter, time, np.uint64(seed) ^ domain
        )
        return second if i >> _BLOCK_BITS & _ONE else first

    return word_of


_normal_word, _uniform_word = map(word_with, ("normal", "uniform"))


@cuda.jit(device=True)
def normal(neuron: Any, stream: Any, time: Any, seed: Any, table: Any) -> Any:
    """Return the normal number of a neuron, as float32."""
    word = _normal_word(neuron, stream, time, seed)
    bits = cuda.libdevice.float_as_int(np.float32(np.int32(word & _LOW | _ONE)))
    entry = table[(bits >> _EXPONENT_SHIFT) - _FIRST_ENTRY]
    fall = np.int32((entry & _PLACE_MASK) * (bits >> _PLACE_SHIFT & _PLACE_MASK))
    size = np.float32(np.int32((entry & ~_PLACE_MASK) - fall)) * _NORMAL_SCALE
    return -size if word >> _SIGN_BIT else size


@cuda.jit(device=True)
def uniform(neuron: Any, stream: Any, time: Any, seed: Any, table: Any) -> Any:
    """Return the uniform number of a neuron, as float32."""
    word = _uniform_word(neuron, stream, time, seed)
    return np.float32(np.int32(word >> _SHIFT)) * _UNIFORM_SCALE


NUMBERS: Final[dict[str, Any]] = {"normal": normal, "uniform": uniform}


@cache
def kernel_with(distribution: str, stream: int) -> Any:
    """Return the kernel of y = base + scale * number; an array of bases is the same memory as y."""
    number = NUMBERS[distribution]

    @cuda.jit
    def noise_input(scale: Any, seed: Any, step: Any, first: Any, table: Any, base: Any, y: Any) -> None:
        i = cuda.grid(1)
        if i < y.size:
            drawn = number(np.uint64(first[()]) + np.uint64(i), stream, step[()], seed[()], table)
            y[i] = at(base, i) + at(scale, i) * y.dtype.type(drawn)

    return noise_input


def build_with(distribution: str, *, outs: Any, stream: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that adds numbers of a distribution."""

    def call(scale: Any, *rest: Any) -> Any:
        kernel, *words, base = kernel_with(distribution, stream), *rest
        aliases = {5: 0} if base.ndim else {}
        run = numba_cuda_kernel(kernel, outs, launch_dims=outs.size, input_output_aliases=aliases)
        return run(scale.reshape(-1), *words, base.reshape(-1))

    return call


normal_input, uniform_input = partial(build_with, "normal"), partial(build_with, "uniform")
