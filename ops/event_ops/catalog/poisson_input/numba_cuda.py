"""Poisson numbers on a GPU: one thread per neuron."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.checks.contracts import MAX_MEAN
from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.random_numbers import outcome_with, philox2x32
from event_ops.kernels.reference import poisson
from ffi_bridge import numba_cuda_kernel

_SHARE: Final = poisson.SHARE
_BITS: Final = np.uint64(poisson.BITS)
_MASK: Final = np.uint64((1 << poisson.BITS) - 1)
_STREAM_BIT: Final = np.uint64(poisson.STREAM_BIT)
_WORD: Final = np.uint64(32)
_PARTS: Final = poisson.PARTS
_FIRST_TABLES: Final = poisson.FIRST_TABLES
_BASE: Final = poisson.BASE
_REST: Final = poisson.REST


number_of = outcome_with(poisson.NUMBER_BITS)


@cuda.jit(device=True)
def bits_of(i: Any, stream: Any, time: Any, key: Any) -> Any:
    """Return 16 bits of a stream for neuron i."""
    counter = (np.uint64(stream) << _STREAM_BIT) + np.uint64(i // _SHARE)
    first, second = philox2x32(counter, time, key)
    return (second << _WORD | first) >> np.uint64(i % _SHARE) * _BITS & _MASK


@cuda.jit(device=True)
def word_of(i: Any, part: Any, time: Any, key: Any) -> Any:
    """Return the word of neuron i for one part of its mean."""
    return bits_of(i, 2 * part, time, key) << _BITS | bits_of(i, 2 * part + 1, time, key)


# initial and y are the same memory.
@cuda.jit
def poisson_input(
    weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any, y: Any
) -> None:
    i = cuda.grid(1)
    if i < y.size:
        number = number_of(tables, which[i], word_of(np.int64(first[()]) + i, 0, step[()], seed[()]))
        y[i] += at(weight, i) * y.dtype.type(number)


@cuda.jit(device=True)
def rest_number(rest: Any, word: Any) -> Any:
    """Return the number that a word chooses for a rest: see event_ops/kernels/reference/poisson.py."""
    half = rest >> np.uint64(5)
    twice = half * half >> np.uint64(23)
    return np.int32(word < rest - twice) + np.int32(word < twice)


# initial and y are the same memory. A thread draws for each part, and last for the rest.
@cuda.jit
def poisson_input_of_data(
    weight: Any, seed: Any, step: Any, first: Any, tables: Any, mean: Any, initial: Any, y: Any
) -> None:
    i = cuda.grid(1)
    if i < y.size:
        left, neuron = at(mean, i), np.int64(first[()]) + i
        if left >= 0 and left <= MAX_MEAN:
            number = np.int32(0)
            for part in range(_PARTS):
                scaled = left * mean.dtype.type(_BASE if part else 1)
                digit = np.int32(scaled)
                left = scaled - mean.dtype.type(digit)
                word = word_of(neuron, part, step[()], seed[()])
                number += number_of(tables, digit + _FIRST_TABLES[part], word)
            scaled = left * mean.dtype.type(_REST)
            rest = np.int32(scaled)
            rest += np.int32(scaled - mean.dtype.type(rest) >= mean.dtype.type(0.5))
            number += rest_number(np.uint64(rest), word_of(neuron, _PARTS, step[()], seed[()]))
            y[i] += at(weight, i) * y.dtype.type(number)
        else:
            y[i] = np.nan


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; floats in `which` are means, integers name their tables."""

    def call(weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any) -> Any:
        kernel = poisson_input_of_data if which.dtype.kind == "f" else poisson_input
        run = numba_cuda_kernel(kernel, outs, launch_dims=outs.size, input_output_aliases={6: 0})
        return run(weight.reshape(-1), seed, step, first, tables, which.reshape(-1), initial)

    return call
