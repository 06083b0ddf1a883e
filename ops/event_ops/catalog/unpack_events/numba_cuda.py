"""Bits as events on a GPU: one thread per word, and warps that write their events together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.packed_events import unpack_word
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from ffi_bridge import numba_cuda_kernel


@cuda.jit
def unpack_events(words: Any, events: Any) -> None:
    word = cuda.grid(1)
    bits = words[word] if word < words.size else np.uint32(0)
    unpack_word(bits, events, word)  # every thread of a warp calls it


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""

    def call(words: Any) -> Any:
        return numba_cuda_kernel(unpack_events, outs, grid=blocks_of(words.size), block=BLOCK)(words)

    return call
