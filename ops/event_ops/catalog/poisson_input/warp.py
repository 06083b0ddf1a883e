"""Poisson numbers in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops import poisson
from event_ops.warp_parts.access import at
from event_ops.warp_parts.bernoulli import philox2x32
from ffi_bridge import warp_kernel

_BLOCK = wp.constant(poisson.BLOCK)
_HALF = wp.constant(poisson.HALF)
_BITS = wp.constant(wp.uint32(poisson.NUMBER_BITS))
_CUT_BITS = wp.constant(wp.uint32(32 - poisson.NUMBER_BITS))
_CUT = wp.constant(wp.uint32((1 << 32 - poisson.NUMBER_BITS) - 1))
_ALIAS = wp.constant(wp.uint32((1 << poisson.NUMBER_BITS) - 1))
_OUTCOMES = wp.constant(1 << poisson.NUMBER_BITS)


@wp.kernel(enable_backward=False)
def poisson_input(
    weight: wp.array(dtype=Any),
    seed: wp.array(dtype=wp.uint32),
    step: wp.array(dtype=wp.uint32),
    tables: wp.array(dtype=wp.uint32),
    which: wp.array(dtype=wp.int32),
    y: wp.array(dtype=Any),
):
    i = wp.tid()
    pair = i / _BLOCK * _HALF + i % _HALF
    first, second = philox2x32(wp.uint32(pair), step[0], seed[0])
    word = wp.where(i / _HALF % 2 == 0, first, second)
    slot = word >> _CUT_BITS
    entry = tables[which[i] * _OUTCOMES + wp.int32(slot)]
    number = wp.where((word & _CUT) < (entry >> _BITS), slot, entry & _ALIAS)
    y[i] = y[i] + at(weight, i) * y.dtype(number)


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable."""
    return warp_kernel(poisson_input, outs, in_out_argnames=["y"])
