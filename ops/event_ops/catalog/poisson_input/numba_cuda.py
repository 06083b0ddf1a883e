"""Poisson numbers on a GPU: one thread per pair of words, which is two neurons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops import poisson
from event_ops.cuda_parts.access import at
from event_ops.cuda_parts.philox import philox2x32
from ffi_bridge import numba_cuda_kernel

_BLOCK: Final = poisson.BLOCK
_HALF: Final = poisson.HALF
_BITS: Final = np.uint64(poisson.NUMBER_BITS)
_CUT_BITS: Final = np.uint64(32 - poisson.NUMBER_BITS)
_CUT: Final = np.uint64((1 << 32 - poisson.NUMBER_BITS) - 1)
_ALIAS: Final = np.uint64((1 << poisson.NUMBER_BITS) - 1)


@cuda.jit(device=True)
def number_of(tables: Any, which: Any, word: Any) -> Any:
    """What a word chooses in a neuron's table."""
    slot = word >> _CUT_BITS
    entry = np.uint64(tables[(np.uint64(which) << _BITS) + slot])
    return np.int32(slot if word & _CUT < entry >> _BITS else entry & _ALIAS)


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


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable."""
    pairs = -(-outs.size // _BLOCK) * _HALF
    run = numba_cuda_kernel(poisson_input, outs, launch_dims=pairs, input_output_aliases={5: 0})
    return lambda weight, *rest: run(weight.reshape(-1), *rest)
