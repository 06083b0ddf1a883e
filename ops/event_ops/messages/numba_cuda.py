"""A pass on a GPU: a thread for each row and feature; neighbours read neighbouring features."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.codegen.emit import defined, filled, tables_of
from event_ops.codegen.primitives import NUMBA_CUDA
from event_ops.kernels.numba_cuda.access import bounded, place
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear
from event_ops.messages.emit import parameters
from event_ops.messages.passes import ENTRY, Pass
from event_ops.messages.threads import by_kind, thread_lines
from event_ops.messages.visits import along_columns
from ffi_bridge import numba_cuda_callable

_KEPT = 1024  # passes


@lru_cache(_KEPT)
def kernel(of: Pass, dtype: str) -> Any:
    """Return the kernel of a pass whose results go to one kind of places."""
    width = of.width(of.results[0].axes)
    lines = thread_lines(of, NUMBA_CUDA, dtype, "np.int64")
    guarded = f"if thread < (indptr.size - 1) * np.int64({width}):\n    {{lines}}"
    body = ["thread = np.int64(cuda.grid(1))", *filled(guarded, lines=lines)]
    called = {"cuda": cuda, "math": math, "np": np, "bounded": bounded, "place": place}
    return cuda.jit(defined("gspmm", parameters(of), body, **called, **tables_of(of.message)))


@along_columns
def build(*, of: Pass, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""
    structure_count, dtype = of.structure[0], str(outs[0].dtype)
    passes = by_kind(of)
    rows = of.shape[0]

    def visit(*arrays: Any) -> None:
        count = structure_count + 1 + len(of.axes)
        inputs, results, stream = arrays[:count], arrays[count:-1], arrays[-1]
        for kind, numbers in passes:
            mine = [results[k] for k in numbers]
            if kind.results[0].place == ENTRY:
                # Entries that are out of range have no thread that writes them.
                for y in mine:
                    clear(y, stream)
            threads = rows * kind.width(kind.results[0].axes)
            if threads:
                kernel(kind, dtype)[blocks_of(threads), BLOCK, stream](*inputs, *mine)

    product = numba_cuda_callable(visit, outs)

    def call(*arrays: Any) -> Any:
        structure, inputs = of.divided(arrays)
        return product(*structure[:structure_count], np.asarray([of.shape[1]], np.int64), *inputs)

    return call
