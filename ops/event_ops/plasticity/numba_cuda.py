"""A rule applied on a GPU to the synapses of the neurons that spiked, in place."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.codegen.emit import tables_of
from event_ops.codegen.function import Traced
from event_ops.codegen.primitives import NUMBA_CUDA
from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.plasticity import given_place, grid_and_pieces, make_visit_rows, own_place
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from event_ops.plasticity.emit import COLUMNS, DENSE_ROWS, ROWS, STORAGES, Storage, kernel_function, update
from ffi_bridge import numba_cuda_callable

_KEPT = 1024  # rules
_MOST_ROWS = 65535  # blocks along y


def make_dense_visit(change: Any, by_row: bool) -> Any:
    """Return the function that calls `change` for each entry of a dense matrix whose row or column spikes.

    Threads are columns, blocks along y are rows.
    """

    @cuda.jit(device=True)
    def visit(synapses: Any, spikes: Any, variables: Any, rows: Any) -> None:
        columns = synapses[0].size // rows
        j = cuda.grid(2)[0]
        if j < columns:
            for i in range(cuda.blockIdx.y, rows, cuda.gridDim.y):
                spiking, other = (i, j) if by_row else (j, i)
                if is_active(spikes[spiking]):
                    change(i * columns + j, spiking, other, synapses, variables)

    return visit


@cuda.jit(device=True)
def as_it_is(x: Any) -> Any:
    """Return x: an array of one value for all is read where it is needed."""
    return x


@lru_cache(_KEPT)
def kernel(rule: Traced, storage: Storage) -> Any:
    """Return the kernel of a rule, which changes the synapses in place."""
    called = {"cuda": cuda, "math": math, "np": np, **tables_of(rule)}
    change = cuda.jit(device=True)(update(rule, NUMBA_CUDA, **called))
    if storage in (ROWS, COLUMNS):
        visit = make_visit_rows(change, own_place if storage is ROWS else given_place)
    else:
        visit = make_dense_visit(change, storage is DENSE_ROWS)
    return cuda.jit(kernel_function(rule, storage, "extent", visit=visit, hoist=as_it_is))


def build(*, rule: Traced, outs: Any, storage: str, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the native call for synapses that are stored so; shape is that of the matrix."""
    stored = STORAGES[storage]
    spikes = rule.count + stored.structure.index("spikes")

    def move(*arrays: Any) -> None:
        ins, news, stream = arrays[: -rule.count - 1], arrays[-rule.count - 1 : -1], arrays[-1]
        if stored in (ROWS, COLUMNS):
            grid, extent = grid_and_pieces(ins[0].size, ins[spikes].size)
        else:
            grid, extent = (blocks_of(shape[1]), min(shape[0], _MOST_ROWS)), shape[0]
        ins, news = ([x.reshape(x.size) for x in arrays] for arrays in (ins, news))
        kernel(rule, stored)[grid, BLOCK, stream](*ins, extent, *news)

    return numba_cuda_callable(move, outs, input_output_aliases={i: i for i in range(rule.count)})
