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
from event_ops.kernels.numba_cpu import access, arithmetic, jit, prefetch, split, stack
from event_ops.kernels.numba_cpu.arithmetic import FUNCTIONS
from event_ops.kernels.numba_cpu.jit import CONTRACT, REORDER, njit
from event_ops.kernels.numba_cpu.matmat import is_large
from event_ops.messages.emit import message_function, outputs, parameters
from event_ops.messages.passes import ENTRY, ROW, Pass
from event_ops.messages.rows import columns_of, read_at, row_lines
from event_ops.messages.visits import along_columns
from ffi_bridge import numba_kernel

_KEPT: Final = 1024  # passes
_BYTES: Final = 4  # of a feature, about
_LINE: Final = 64  # bytes
_MODULES: Final = access, arithmetic, jit, prefetch, split, stack


@njit(fastmath=REORDER, forceinline=True, _nrt=False)
def total_of(values: Any, begin: Any, size: Any) -> Any:
    """Return the sum of `size` values from `begin` on."""
    total = values.dtype.type(0)
    for c in range(begin, begin + size):
        total += values[c]
    return total


# What goes to columns is added up by each thread in an array of its own.
_SUMS: Final = """\
parts = parts_for(indices.size, y{0}.shape[0])
{{spares}}
for part in prange(parts):
    low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
    {{mine}}
    {{rows}}
{{sums}}"""
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
    outside = {"np": np, "message": message, "total_of": total_of}
    taken = ["indices", "indptr", "permutation", "columns", "arrays", "outs", "low", "high"]
    rows = compiled(defined("rows", taken, row_lines(of, dtype), *_MODULES, **outside))
    ordered = "permutation" if of.structure[0] == 3 else "None"
    given = f"indices, indptr, {ordered}, columns, {tuple_of(array_names(of.message))}"
    to_columns = columns_of(of)
    body = [
        *(f"clear(y{k})" for k in to_columns),
        f"rows({given}, {tuple_of(outputs(of))}, 0, indptr.size - 1)",
    ]
    if large and to_columns:
        own = [f"{'mine' if k in to_columns else 'y'}{k}" for k in range(len(of.results))]
        body = filled(
            _SUMS.format(to_columns[0]),
            spares=[f"spare{k} = np.empty((parts - 1, *y{k}.shape), y{k}.dtype)" for k in to_columns],
            mine=[
                x for k in to_columns for x in (f"mine{k} = private(y{k}, spare{k}, part)", f"mine{k}[:] = 0")
            ],
            rows=[f"rows({given}, {tuple_of(own)}, low, high)"],
            sums=[f"add_up(spare{k}, y{k})" for k in to_columns],
        )
    elif large:
        body = filled(_ON_ALL_THREADS, rows=[f"rows({given}, {tuple_of(outputs(of))}, low, high)"])
    body = ["columns = np.uintp(hoist(limit))", *body]
    outside = {"np": np, "prange": prange, "rows": rows}
    return njit(parallel=large)(defined("gspmm", parameters(of), body, *_MODULES, **outside))


def _adds_up(of: Pass) -> bool:
    """Return whether results at columns are added up entry by entry, not by a pass along the transpose.

    That takes about as long as the lines of memory that it finds at random: it reads and writes each sum;
    along the transpose, it would read the inputs at rows, and those at entries by their permutation.
    """
    at_columns = of.part(columns_of(of))
    lines = -(-of.features * _BYTES // _LINE)
    turned = lines * len(read_at(at_columns, ROW)) + len(read_at(at_columns, ENTRY))
    return not of.structure[1] or turned >= 2 * lines


def build(*, of: Pass, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many messages."""
    if any(map(export.is_symbolic_dim, of.sizes)):
        raise ValueError(
            f"messages have features of sizes {of.sizes}, which an exported program leaves open; expected "
            "numbers, which kernels are compiled for: give the axes of features sizes"
        )
    if columns_of(of) and not _adds_up(of):
        return along_columns(build)(of=of, outs=outs)
    # A kernel is for matrices of all sizes.
    plain = replace(of, shape=(0, 0), structure=(of.structure[0], 0))

    def call(*arrays: Any) -> Any:
        structure, inputs = of.divided(arrays)
        stored = structure[: of.structure[0]]
        function = kernel(plain, str(outs[0].dtype), is_large(stored[0].size, of.features))
        limit = np.asarray(of.shape[1], np.int64)
        return numba_kernel(function, outs)(*stored, limit, *inputs)

    return call
