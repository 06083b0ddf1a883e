"""Events as bits on a GPU: one thread per word, and warps that read their events together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.packed_events import packed_word_with
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, blocks_of
from ffi_bridge import numba_cuda_kernel

packed_word = packed_word_with(WARP)


@cuda.jit
def pack_events(events: Any, words: Any) -> None:
    word, lane = cuda.grid(1), cuda.laneid
    bits = packed_word(events, word - lane, lane)  # every thread of a warp calls it
    if word < words.size:
        words[word] = bits


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return numba_cuda_kernel(pack_events, outs, grid=blocks_of(outs.size), block=BLOCK)
