"""Scaling the rows of a CSR matrix on the CPU: one pass over the weights, every one of which is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import product
from event_ops.kernels.numba_cpu.every_entry import every_entry_with
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL
from ffi_bridge import numba_kernel


@njit(_nrt=False, forceinline=True)
def fill_row(operands: Any, i: Any, out: Any, low: Any, high: Any) -> None:
    """out[k] = data[k] * x[i] for the entries from `low` to `high`."""
    data, x = operands
    factor = x[i]
    for k in range(low, high):
        out[k] = product(data[k], factor)


scale = every_entry_with(fill_row)


@njit
def scale_rows(data: Any, indptr: Any, x: Any, out: Any) -> None:
    scale(indptr, (data, x), out, 0, out.size)


@njit(parallel=True)
def scale_rows_parallel(data: Any, indptr: Any, x: Any, out: Any) -> None:
    parts = num_threads()
    for part in prange(parts):
        low, high = out.size * part // parts, out.size * (part + 1) // parts
        scale(indptr, (data, x), out, low, high)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries."""

    def call(data: Any, indptr: Any, x: Any) -> Any:
        kernel = scale_rows_parallel if reaches(data.size, MIN_PARALLEL) else scale_rows
        return numba_kernel(kernel, outs)(data, indptr, x)

    return call
