"""A pass on the CPU: rows in parallel, features innermost, where they vectorise, four entries at a time."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from jax import export
from numba import prange

from event_ops.codegen.emit import array_names, defined, filled, tables_of, tuple_of
from event_ops.codegen.primitives import NUMBA_LOOPS
from event_ops.kernels.numba_cpu.access import hoist
from event_ops.kernels.numba_cpu.arithmetic import FUNCTIONS, select
from event_ops.kernels.numba_cpu.jit import CONTRACT, REORDER, njit, take_chunks_of
from event_ops.kernels.numba_cpu.matmat import is_large
from event_ops.kernels.numba_cpu.prefetch import is_far_to_read, prefetch_targets
from event_ops.kernels.numba_cpu.split import chunks, first_row
from event_ops.kernels.numba_cpu.stack import on_stack
from event_ops.messages.emit import (
    message_function,
    outputs,
    parameters,
)
from event_ops.messages.passes import Pass
from event_ops.messages.rows import row_lines
from ffi_bridge import numba_kernel

_KEPT: Final = 1024  # passes
# By name, as functions without Numba's JIT may have another one.
_OUTSIDE: Final[dict[str, Any]] = {
    "np": np, "chunks": chunks, "first_row": first_row, "hoist": hoist, "is_far_to_read": is_far_to_read,
    "on_stack": on_stack, "prange": prange, "prefetch_targets": prefetch_targets,
    "take_chunks_of": take_chunks_of,
}  # fmt: skip


@njit(fastmath=REORDER, forceinline=True, _nrt=False)
def total_of(values: Any, begin: Any, size: Any) -> Any:
    """Return the sum of `size` values from `begin` on."""
    total = values.dtype.type(0)
    for c in range(begin, begin + size):
        total += values[c]
    return total


_ON_ALL_THREADS: Final = """\
parts = chunks()
take_chunks_of(1)
for part in prange(parts):
    low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
    {rows}
take_chunks_of(0)"""


@lru_cache(_KEPT)
def kernel(of: Pass, dtype: str, large: bool) -> Any:
    """Return the kernel of a pass for one thread, or for all threads."""
    # A product and a sum that become one instruction in one loop, and not in another, would give two values
    # to a message: entries that are equal to a maximum would not be found.
    fast = CONTRACT if not of.exact else False
    compiled = njit(error_model="numpy", fastmath=fast)
    inlined = njit(error_model="numpy", _nrt=False, forceinline=True, fastmath=fast)
    called = {"math": math, "np": np, **FUNCTIONS, **tables_of(of.message)}
    message = inlined(message_function(of.message, NUMBA_LOOPS, **called))
    outside = _OUTSIDE | {"message": message, "total_of": total_of, "select": select}
    taken = ["indices", "indptr", "permutation", "columns", "arrays", "outs", "low", "high"]
    rows = compiled(defined("rows", taken, row_lines(of, dtype), **outside))
    ordered = "permutation" if of.structure[0] == 3 else "None"
    hoisted = (
        f"indices, indptr, {ordered}, columns, {tuple_of(array_names(of.message))}, {tuple_of(outputs(of))}"
    )
    body = [f"rows({hoisted}, 0, indptr.size - 1)"]
    if large:
        body = filled(_ON_ALL_THREADS, rows=[f"rows({hoisted}, low, high)"])
    body = ["columns = np.uintp(hoist(limit))", *body]
    return njit(parallel=large)(defined("gspmm", parameters(of), body, rows=rows, **_OUTSIDE))


def build(*, of: Pass, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many messages."""
    if any(map(export.is_symbolic_dim, of.sizes)):
        raise ValueError(
            f"messages have features of sizes {of.sizes}, which an exported program leaves open; expected "
            "numbers, which kernels are compiled for: give the axes of features sizes"
        )
    # A kernel is for matrices of all sizes.
    plain = replace(of, shape=(0, 0), structure=(of.structure[0], 0))

    def call(*arrays: Any) -> Any:
        structure, inputs = of.divided(arrays)
        stored = structure[: of.structure[0]]
        function = kernel(plain, str(outs[0].dtype), is_large(stored[0].size, of.features))
        limit = np.asarray(of.shape[1], np.int64)
        return numba_kernel(function, outs)(*stored, limit, *inputs)

    return call
