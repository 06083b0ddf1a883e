"""Rewiring on a GPU: a thread for each row, one slot after the other, in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.catalog.csr_rewire.reference import ATTEMPTS
from event_ops.kernels.numba_cuda.access import bounded, place
from event_ops.kernels.numba_cuda.random_numbers import philox2x32
from ffi_bridge import numba_cuda_kernel

_WORD: Final = np.uint64(32)


@cache
def kernel(autapses: bool, multapses: bool) -> Any:
    """Return the kernel; indices and y are the same memory."""

    @cuda.jit(device=True)
    def may_have(y: Any, begin: Any, end: Any, i: Any, j: Any) -> Any:
        if j < 0 or (not autapses and j == i):
            return False
        if not multapses:
            for k in range(begin, end):
                if y[k] == j:
                    return False
        return True

    @cuda.jit
    def csr_rewire(
        indices: Any, indptr: Any, rewired: Any, seed: Any, step: Any, columns: Any, targets: Any, y: Any
    ) -> None:
        i, size = cuda.grid(1), np.int64(columns[()])
        if i < indptr.size - 1:
            begin, end = bounded(indptr[i], y.size), bounded(indptr[i + 1], y.size)
            for k in range(begin, end):
                if rewired[k]:
                    y[k] = size
            for k in range(begin, end):
                if rewired[k] and targets.size:
                    j = place(targets[k], size)
                    if may_have(y, begin, end, i, j):
                        y[k] = j
                elif rewired[k]:
                    x, z = np.uint64(np.uint32(k)), np.uint64(step[()])
                    for _ in range(ATTEMPTS):
                        x, z = philox2x32(x, z, seed[()])
                        j = place(x * np.uint64(size) >> _WORD, size)
                        if may_have(y, begin, end, i, j):
                            y[k] = j
                            break

    return csr_rewire


def build(*, outs: Any, autapses: bool, multapses: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def call(indices: Any, indptr: Any, *others: Any) -> Any:
        rows = indptr.size - 1
        chosen = kernel(autapses, multapses)
        run = numba_cuda_kernel(chosen, outs, launch_dims=rows, input_output_aliases={0: 0})
        return run(indices, indptr, *others)

    return call
