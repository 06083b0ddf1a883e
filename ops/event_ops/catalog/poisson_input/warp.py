"""Poisson numbers in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.checks.contracts import MAX_MEAN
from event_ops.kernels.reference import poisson
from event_ops.kernels.warp.access import Array, at
from event_ops.kernels.warp.random_numbers import outcome, philox2x32
from ffi_bridge import warp_kernel

_SHARE = wp.constant(poisson.SHARE)
_STREAM_BIT = wp.constant(wp.uint32(poisson.STREAM_BIT))
_NUMBER_BITS = wp.constant(wp.uint32(poisson.NUMBER_BITS))
_PARTS = wp.constant(poisson.PARTS)
_WHOLE, _SECOND = (wp.constant(first) for first in poisson.FIRST_TABLES[1:])
_BASE = wp.constant(poisson.BASE)
_REST = wp.constant(poisson.REST)
_MAX_MEAN = wp.constant(int(MAX_MEAN))


@wp.func
def bits_of(i: wp.int32, stream: wp.int32, time: wp.uint32, key: wp.uint32) -> wp.uint32:
    """Return 16 bits of a stream for neuron i."""
    first, second = philox2x32((wp.uint32(stream) << _STREAM_BIT) + wp.uint32(i / _SHARE), time, key)
    word = wp.where(i % 4 < 2, first, second)
    return wp.where(i % 2 == 0, word & wp.uint32(0xFFFF), word >> wp.uint32(16))


@wp.func
def word_of(i: wp.int32, part: wp.int32, time: wp.uint32, key: wp.uint32) -> wp.uint32:
    """Return the word of neuron i for one part of its mean."""
    return (bits_of(i, 2 * part, time, key) << wp.uint32(16)) | bits_of(i, 2 * part + 1, time, key)


@wp.func
def rest_number(rest: wp.uint32, word: wp.uint32) -> wp.uint32:
    """Return the number that a word chooses for a rest: see event_ops/kernels/reference/poisson.py."""
    half = rest >> wp.uint32(5)
    twice = (half * half) >> wp.uint32(23)
    return wp.where(word < rest - twice, wp.uint32(1), wp.uint32(0)) + wp.where(
        word < twice, wp.uint32(1), wp.uint32(0)
    )


@wp.kernel(enable_backward=False)
def poisson_input(
    weight: Array, seed: wp.array(dtype=wp.uint32), step: wp.array(dtype=wp.uint32),
    first: wp.array(dtype=wp.uint32), tables: wp.array(dtype=wp.uint32),
    which: wp.array(dtype=wp.uint16), y: Array,
):  # fmt: skip
    i = wp.tid()
    neuron = wp.int32(first[0]) + i
    number = outcome(tables, wp.int32(which[i]), word_of(neuron, 0, step[0], seed[0]), _NUMBER_BITS)
    y[i] = y[i] + at(weight, i) * y.dtype(number)


@wp.kernel(enable_backward=False)
def poisson_input_of_data(
    weight: Array, seed: wp.array(dtype=wp.uint32), step: wp.array(dtype=wp.uint32),
    first: wp.array(dtype=wp.uint32), tables: wp.array(dtype=wp.uint32), mean: Array, y: Array,
):  # fmt: skip
    i = wp.tid()
    neuron = wp.int32(first[0]) + i
    wanted = at(mean, i)
    if wanted >= mean.dtype(0) and wanted <= mean.dtype(_MAX_MEAN):
        digit = wp.int32(wanted)
        left = wanted - mean.dtype(digit)
        number = outcome(tables, digit, word_of(neuron, 0, step[0], seed[0]), _NUMBER_BITS)
        for part in range(1, _PARTS):
            scaled = left * mean.dtype(_BASE)
            digit = wp.int32(scaled)
            left = scaled - mean.dtype(digit)
            table = wp.where(part == 1, _WHOLE, _SECOND)
            number += outcome(tables, table + digit, word_of(neuron, part, step[0], seed[0]), _NUMBER_BITS)
        scaled = left * mean.dtype(_REST)
        rest = wp.int32(scaled)
        if scaled - mean.dtype(rest) >= mean.dtype(0.5):
            rest += 1
        number += rest_number(wp.uint32(rest), word_of(neuron, _PARTS, step[0], seed[0]))
        y[i] = y[i] + at(weight, i) * y.dtype(number)
    else:
        y[i] = y.dtype(wp.nan)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; floats in `which` are means, integers name their tables."""

    def call(weight: Any, seed: Any, step: Any, first: Any, tables: Any, which: Any, initial: Any) -> Any:
        kernel = poisson_input_of_data if which.dtype.kind == "f" else poisson_input
        run = warp_kernel(kernel, outs, in_out_argnames=["y"])
        return run(weight, seed, step, first, tables, which, initial)

    return call
