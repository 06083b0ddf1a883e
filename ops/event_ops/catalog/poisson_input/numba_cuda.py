"""Poisson numbers on a GPU: one thread per pair of words, which is two neurons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.checks.contracts import MAX_MEAN
from event_ops.parts.numba_cuda.access import at
from event_ops.parts.numba_cuda.random_numbers import outcome_with, philox2x32
from event_ops.parts.reference import poisson
from ffi_bridge import numba_cuda_kernel

_BLOCK: Final = poisson.BLOCK
_HALF: Final = poisson.HALF
_PARTS: Final = poisson.PARTS
_FIRST_TABLES: Final = poisson.FIRST_TABLES
_BASE: Final = poisson.BASE
_REST: Final = poisson.REST


number_of = outcome_with(poisson.NUMBER_BITS)


# initial and y are the same memory.
@cuda.jit
def poisson_input(weight: Any, seed: Any, step: Any, tables: Any, which: Any, initial: Any, y: Any) -> None:
    pair = cuda.grid(1)
    i = pair // _HALF * _BLOCK + pair % _HALF
    if i < y.size:
        first, second = philox2x32(pair, step[()], seed[()])
        y[i] += at(weight, i) * y.dtype.type(number_of(tables, which[i], first))
        j = i + _HALF
        if j < y.size:
            y[j] += at(weight, j) * y.dtype.type(number_of(tables, which[j], second))


@cuda.jit(device=True)
def word_of(i: Any, part: Any, time: Any, key: Any) -> Any:
    """Return the word of neuron i for one part of its mean."""
    counter = (np.uint64(part) << np.uint64(30)) + np.uint64(i // _BLOCK * _HALF + i % _HALF)
    first, second = philox2x32(counter, time, key)
    return second if i // _HALF % 2 else first


@cuda.jit(device=True)
def rest_number(rest: Any, word: Any) -> Any:
    """Return the number that a word chooses for a rest: see event_ops/parts/reference/poisson.py."""
    half = rest >> np.uint64(5)
    twice = half * half >> np.uint64(23)
    return np.int32(word < rest - twice) + np.int32(word < twice)


# initial and y are the same memory. One thread per neuron draws for each part, and last for the rest.
@cuda.jit
def poisson_input_of_data(
    weight: Any, seed: Any, step: Any, tables: Any, mean: Any, initial: Any, y: Any
) -> None:
    i = cuda.grid(1)
    if i < y.size:
        left = at(mean, i)
        if left >= 0 and left <= MAX_MEAN:
            number = np.int32(0)
            for part in range(_PARTS):
                scaled = left * mean.dtype.type(_BASE if part else 1)
                digit = np.int32(scaled)
                left = scaled - mean.dtype.type(digit)
                word = word_of(i, part, step[()], seed[()])
                number += number_of(tables, digit + _FIRST_TABLES[part], word)
            scaled = left * mean.dtype.type(_REST)
            rest = np.int32(scaled)
            rest += np.int32(scaled - mean.dtype.type(rest) >= mean.dtype.type(0.5))
            number += rest_number(np.uint64(rest), word_of(i, _PARTS, step[()], seed[()]))
            y[i] += at(weight, i) * y.dtype.type(number)
        else:
            y[i] = np.nan


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; floats in `which` are means, integers name their tables."""
    pairs = -(-outs.size // _BLOCK) * _HALF
    aliases = {5: 0}
    of_tables = numba_cuda_kernel(poisson_input, outs, launch_dims=pairs, input_output_aliases=aliases)
    of_data = numba_cuda_kernel(
        poisson_input_of_data, outs, launch_dims=outs.size, input_output_aliases=aliases
    )

    def call(weight: Any, seed: Any, step: Any, tables: Any, which: Any, initial: Any) -> Any:
        run = of_data if which.dtype.kind == "f" else of_tables
        return run(weight.reshape(-1), seed, step, tables, which.reshape(-1), initial)

    return call
