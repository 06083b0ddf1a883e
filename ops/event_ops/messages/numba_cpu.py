"""A pass on the CPU: rows in parallel, features innermost, where they vectorise, four entries at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from jax import export
from numba import prange

from event_ops.codegen.emit import defined, tables_of, tuple_of
from event_ops.codegen.primitives import NUMBA_LOOPS
from event_ops.kernels.numba_cpu.access import hoist
from event_ops.kernels.numba_cpu.arithmetic import FUNCTIONS, select
from event_ops.kernels.numba_cpu.jit import CONTRACT, REORDER, njit, take_chunks_of
from event_ops.kernels.numba_cpu.matmat import is_large
from event_ops.kernels.numba_cpu.prefetch import is_far_to_read, prefetch_targets
from event_ops.kernels.numba_cpu.split import chunks, first_row
from event_ops.kernels.numba_cpu.stack import on_stack
from event_ops.messages.emit import (
    START,
    combined,
    inputs,
    message_function,
    nested,
    offset,
    outputs,
    parameters,
    reads,
)
from event_ops.messages.passes import COLUMN, ENTRY, ROW, Pass
from ffi_bridge import numba_kernel

_KEPT: Final = 1024  # passes
# Entries whose messages are combined before they are added: fewer loads and stores of sums.
_AT_ONCE: Final = 4
_MOST_OPERATIONS: Final = 48  # of a message of which so many are written out
_MOST_ON_STACK: Final = 4096  # features
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


class _Lines:
    """The loop over the entries of one row, as lines."""

    def __init__(self, of: Pass, dtype: str) -> None:
        self.of, self.dtype = of, dtype
        self.vector = bool(of.sizes)  # maybe an axis of one element, of a batch
        self.rows = [k for k, x in enumerate(of.results) if x.place == ROW]
        self.entries = [k for k, x in enumerate(of.results) if x.place == ENTRY]
        few = len(of.message.program.operations) <= _MOST_OPERATIONS
        self.steps = _AT_ONCE if few else 1

    def sum_of(self, k: int) -> str:
        """Return where the sum of result k is kept."""
        return f"t{k}[c]" if self.vector else f"t{k}"

    def over_features(self, body: Sequence[str]) -> list[str]:
        """Return lines for every feature, whose place is c."""
        if not self.vector:
            return list(body)
        place = f"c = {offset(self.of.full, self.of.sizes)}"
        return nested(self.of.sizes, range(len(self.of.sizes)), [place, *body], "np.uintp")

    def every(self, body: Sequence[str]) -> list[str]:
        """Return lines for every feature, in a single loop."""
        loop = f"for c in range(np.uintp({self.of.features})):"
        return [loop, *(f"    {line}" for line in body)] if self.vector else list(body)

    def rooms(self) -> list[str]:
        """Return the lines that make room for sums, and for results of entries."""
        if not self.vector:
            return []
        size = self.of.features
        make = f"on_stack(y{{}}, {size})" if size <= _MOST_ON_STACK else f"np.empty({size}, y{{}}.dtype)"
        found = [f"t{k} = {make.format(k)}" for k in self.rows]
        return found + [f"b{k}_{u} = {make.format(k)}" for k in self.entries for u in range(self.steps)]

    def step(self, count: int) -> list[str]:
        """Return the lines for `count` entries, at columns j0, j1, ..., and entries e0, e1, ..."""
        body: list[str] = []
        for u in range(count):
            names = ", ".join(f"r{k}_{u}" for k in range(len(self.of.results)))
            body.append(f"{names} = message({', '.join(reads(self.of, 'np.uintp', str(u)))})")
        for k in self.rows:
            terms = [f"r{k}_{u}" for u in range(count)]
            while len(terms) > 1:  # in pairs, which wait for each other less
                terms = [
                    f"({combined(self.of, NUMBA_LOOPS, self.dtype, x, y)})"
                    for x, y in zip(terms[::2], terms[1::2], strict=True)
                ]
            target = self.sum_of(k)
            if self.of.reduce in ("max", "min") and count > 1:
                body.append(f"m{k} = {terms[0]}")
                terms = [f"m{k}"]
            body.append(f"{target} = {combined(self.of, NUMBA_LOOPS, self.dtype, target, terms[0])}")
        for k in self.entries:
            body += [f"b{k}_{u}{'[c]' * self.vector} = r{k}_{u}" for u in range(count)]
        stores = [line for k in self.entries for u in range(count) for line in self.stored(k, u)]
        return [*self.over_features(body), *stores]

    def stored(self, k: int, u: int) -> list[str]:
        """Return the lines that store result k of entry e{u}, summed over the features that it lacks."""
        axes, sizes = self.of.results[k].axes, self.of.sizes
        if not self.vector:
            return [f"y{k}[e{u}, np.uintp(0)] = b{k}_{u}"]
        if all(axes):
            return self.every([f"y{k}[e{u}, c] = b{k}_{u}[c]"])
        kept = sum(axes)
        if all(axes[:kept]):  # features that follow each other are summed
            summed = math.prod(sizes[kept:])
            place = offset(axes, sizes)
            count = f"np.uintp({summed})"
            body = f"y{k}[e{u}, {place}] = total_of(b{k}_{u}, ({place}) * {count}, {count})"
            return nested(sizes, range(kept), [body], "np.uintp")
        clear = f"y{k}[e{u}, c] = 0"
        width = self.of.width(axes)
        add = f"y{k}[e{u}, {offset(axes, sizes)}] += b{k}_{u}[c]"
        return [f"for c in range(np.uintp({width})):", f"    {clear}", *self.over_features([add])]

    def cleared(self, entry: str) -> list[str]:
        """Return the lines that set the results of an entry to 0."""
        return [
            line
            for k in self.entries
            for line in (
                f"for c in range(np.uintp({self.of.width(self.of.results[k].axes)})):",
                f"    y{k}[{entry}, c] = 0",
            )
        ]

    def begun(self) -> list[str]:
        """Return the lines in front of the entries of row i."""
        start = START[self.of.reduce]
        number = f"np.{self.dtype}({start!r})".replace("(inf", "(np.inf").replace("(-inf", "(-np.inf")
        return self.every([f"{self.sum_of(k)} = {number}" for k in self.rows]) if self.rows else []

    def ended(self) -> list[str]:
        """Return the lines behind the entries of row i."""
        stores = [f"y{k}[i, {'c' if self.vector else 'np.uintp(0)'}] = {self.sum_of(k)}" for k in self.rows]
        if self.of.reduce not in ("max", "min"):
            return self.every(stores) if stores else []
        none = self.every([f"{self.sum_of(k)} = np.{self.dtype}(0)" for k in self.rows])
        return ["if not found:", *_indent(none, 1), *self.every(stores)]


def _indent(lines: Sequence[str], by: int) -> list[str]:
    return [f"{'    ' * by}{line}" for line in lines]


def _located(of: Pass, count: int) -> list[str]:
    """Return the lines that name the columns and entries of the next steps."""
    lines: list[str] = []
    for u in range(count):
        at = f"k + np.uintp({u})" if u else "k"
        entry = f"np.uintp(permutation[{at}])" if of.structure[0] == 3 else at
        lines += [f"j{u} = np.uintp(indices[{at}])", f"e{u} = {entry}"]
    return lines


def _inside(of: Pass, count: int) -> str:
    terms = [f"(j{u} < columns)" for u in range(count)]
    if of.structure[0] == 3:
        terms += [f"(e{u} < nse)" for u in range(count)]
    return " & ".join(terms)


def row_lines(of: Pass, dtype: str) -> list[str]:
    """Return the lines that visit the entries of the rows from `low` to `high`."""
    lines = _Lines(of, dtype)
    sources = [k for k, place in enumerate(of.message.places) if place == COLUMN]
    moved = [k for k, place in enumerate(of.message.places) if place == ENTRY and of.structure[0] == 3]
    at_random = [(f"a{k}", "indices") for k in sources] + [(f"a{k}", "permutation") for k in moved]
    loop: list[str] = []
    if lines.steps > 1:
        four = ["found = True"] if of.reduce in ("max", "min") else []
        loop += [
            f"if k + np.uintp({lines.steps}) <= end:",
            *_indent(_located(of, lines.steps), 1),
            f"    if {_inside(of, lines.steps)}:",
            *_indent([*four, *lines.step(lines.steps), f"k += np.uintp({lines.steps})", "continue"], 2),
        ]
    cleared = lines.cleared("e0")
    loop += [
        *_located(of, 1),
        f"if {_inside(of, 1)}:",
        *_indent(["found = True", *lines.step(1)], 1),
        *(["else:", *_indent(cleared, 1)] if cleared else []),
        "k += np.uintp(1)",
    ]
    gaps: list[str] = []
    if cleared:  # entries that no row has
        first = ["for e in range(np.uintp(0), min(np.uintp(indptr[0]), nse)):"]
        last = ["for e in range(min(np.uintp(indptr[indptr.size - 1]), nse), nse):"]
        for test, loop_line in (("if low == 0:", first), ("if high == indptr.size - 1:", last)):
            gaps += [test, *_indent([*loop_line, *_indent(lines.cleared("e"), 1)], 1)]
    names = [(tuple_of(inputs(of)), "arrays"), (tuple_of(outputs(of)), "outs")]
    return [
        *(f"{left} = {right}" for left, right in names if left != "()"),
        "nse = np.uintp(indices.size)",
        *(f"far{n} = is_far_to_read({array})" for n, (array, _) in enumerate(at_random)),
        *lines.rooms(),
        *gaps,
        "for i in range(np.uintp(low), np.uintp(high)):",
        *_indent(
            [
                "k, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)",
                *(
                    line
                    for n, (array, ids) in enumerate(at_random)
                    for line in (f"if far{n}:", f"    prefetch_targets({array}, {ids}, k, end)")
                ),
                "found = False",
                *lines.begun(),
                "while k < end:",
                *_indent(loop, 1),
                *lines.ended(),
            ],
            1,
        ),
    ]


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
    hoisted = f"indices, indptr, {ordered}, columns, {tuple_of(inputs(of))}, {tuple_of(outputs(of))}"
    body = ["columns = np.uintp(hoist(limit))"]
    if large:
        body += [
            "parts = chunks()",
            "take_chunks_of(1)",
            "for part in prange(parts):",
            "    low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)",
            f"    rows({hoisted}, low, high)",
            "take_chunks_of(0)",
        ]
    else:
        body.append(f"rows({hoisted}, 0, indptr.size - 1)")
    return njit(parallel=large)(defined("gspmm", parameters(of), body, rows=rows, **_OUTSIDE))


def build(*, of: Pass, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many messages."""
    if any(map(export.is_symbolic_dim, of.sizes)):
        raise ValueError(
            f"messages have features of sizes {of.sizes}, which an exported program leaves open; expected "
            "numbers, which kernels are compiled for: give the axes of features sizes"
        )
    plain = replace(of, shape=(0, 0), structure=(of.structure[0], 0))

    def call(*arrays: Any) -> Any:
        structure, given = of.divided(arrays)
        own = structure[: of.structure[0]]
        function = kernel(plain, str(outs[0].dtype), is_large(own[0].size, of.features))
        limit = np.asarray(of.shape[1], np.int64)
        return numba_kernel(function, outs)(*own, limit, *given)

    return call
