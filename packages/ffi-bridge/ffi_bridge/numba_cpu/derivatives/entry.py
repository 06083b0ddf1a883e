"""The functions of LLVM's text around a kernel from which Enzyme makes a derivative.

`entry(table)` is what a Numba kernel calls. The table holds the address of the status, whether to be careful,
for each buffer the address of its elements and those of its tangents, then all extents: one derivative serves
all shapes.

What is not taken in a branch may have an infinite derivative, and 0 times that is to be 0, not NaN. To ask at
each product takes a quarter of the time or more, and only the careful derivative does, as that of order 2.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from ffi_bridge.numba_cpu.derivatives.mode import Mode

NAME: Final = "f"  # as the call of the compiler in `child` says
_CAREFUL: Final = "i32 %strong_zero"
_FLAGS: Final = ("enzyme_const", "enzyme_dup", "enzyme_runtime_activity", "enzyme_strong_zero")
_DECLARED: Final = """
declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @__enzyme_fwddiff.first(...)
declare void @__enzyme_fwddiff.second(...)
declare void @__enzyme_autodiff.first(...)
"""
FLOATS: Final = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}


class Slot(NamedTuple):
    """A buffer of the kernel.

    `kind`: Numba's type of it; `dtype`: of its elements; `passed`: LLVM's type of a number that is passed by
    value; `begins`: the input whose memory an output shares.
    """

    kind: types.Type
    dtype: np.dtype[Any]
    passed: str = ""
    begins: int | None = None

    @property
    def is_active(self) -> bool:
        """Return whether the buffer has derivatives."""
        return self.dtype in FLOATS

    @property
    def ndim(self) -> int:
        return self.kind.ndim if isinstance(self.kind, types.Array) else 0

    @property
    def pointees(self) -> str:
        """Return the type that Enzyme is to take the elements for."""
        return f"Float@{FLOATS[self.dtype]}" if self.is_active else "Integer"


def entry_text(kernel: str, slots: Sequence[Slot], mode: Mode, at_run_time: bool) -> str:
    """Return the functions as text; `kernel` is the name of the kernel's function.

    `at_run_time`: whether a pointer leads to what has derivatives is decided when it is used, which costs a
    comparison; Enzyme says where it cannot know before.
    """
    options = ["i32 %runtime_activity"] if at_run_time else []
    flags = [f"@{flag} = external global i32" for flag in _FLAGS]
    functions = [_primal(kernel, slots), *_first(slots, mode, options), _entry(slots, mode, options)]
    return "\n".join([_DECLARED, *flags, *functions])


def _extents(slots: Sequence[Slot]) -> list[str]:
    return [f"%n{i}_{axis}" for i, slot in enumerate(slots) for axis in range(slot.ndim)]


def _primal(kernel: str, slots: Sequence[Slot]) -> str:
    """Return the kernel as a function of addresses and extents.

    An output that begins as an input is a buffer of its own, copied at the end.
    """
    before, after, arguments = [], [], ["ptr %ret", "ptr %exc"]
    shared = {slot.begins: i for i, slot in enumerate(slots) if slot.begins is not None}
    for i, slot in enumerate(slots):
        before += _size(i, slot)
        if slot.begins is not None:
            before.append(f"  %copy{i} = call {_kind(slot)} ptr @malloc(i64 %bytes{i})")
            before.append(_copy(f"%copy{i}", f"%b{slot.begins}", f"%bytes{i}"))
            after += [_copy(f"%b{i}", f"%copy{i}", f"%bytes{i}"), f"  call void @free(ptr %copy{i})"]
    for i, slot in enumerate(slots):
        copied = i if slot.begins is not None else shared.get(i)
        data = f"%b{i}" if copied is None else f"%copy{copied}"
        if slot.passed:
            before.append(f"  %value{i} = load {slot.passed}, ptr {data}")
            arguments.append(f"{slot.passed} %value{i}")
        else:
            shape, strides = ([f"i64 %{x}{i}_{axis}" for axis in range(slot.ndim)] for x in "ns")
            item = f"i64 {slot.dtype.itemsize}"
            arguments += ["ptr null", "ptr null", f"i64 %size{i}", item, f"ptr {data}", *shape, *strides]
    return "\n".join(
        [
            f"define internal void @primal({_parameters(slots, 'noalias noundef')}) noimplicitfloat {{",
            "  %ret = alloca ptr",
            "  %exc = alloca ptr",
            *before,
            f'  %returned = call i32 @"{kernel}"({", ".join(arguments)})',
            "  store i32 %returned, ptr %status",
            *after,
            "  ret void",
            "}",
        ]
    )


def _parameters(slots: Sequence[Slot], marks: str, of_active: str = "b") -> str:
    """Return the parameters of a function of addresses and extents; `of_active`: the buffers of one."""
    buffers = [
        f"ptr {marks} {_kind(slot)} %{x}{i}"
        for i, slot in enumerate(slots)
        for x in (of_active if slot.is_active else "b")
    ]
    extents = [f'i64 "enzyme_type"="{{[-1]:Integer}}" {x}' for x in _extents(slots)]
    return ", ".join(["ptr %status", *buffers, *extents])


def _kind(slot: Slot) -> str:
    """Return the mark of the address of a buffer's elements, which names their type."""
    return f'"enzyme_type"="{{[-1]:Pointer, [-1,-1]:{slot.pointees}}}"'


def _size(i: int, slot: Slot) -> list[str]:
    """Return lines that compute the strides of a buffer, its number of elements and its bytes."""
    lines, items, stride = [], "1", str(slot.dtype.itemsize)
    for axis in reversed(range(slot.ndim)):
        # `add x, 0` gives a name to what may be a constant.
        lines.append(f"  %s{i}_{axis} = add i64 {stride}, 0")
        lines.append(f"  %p{i}_{axis} = mul i64 {items}, %n{i}_{axis}")
        lines.append(f"  %q{i}_{axis} = mul i64 {stride}, %n{i}_{axis}")
        items, stride = f"%p{i}_{axis}", f"%q{i}_{axis}"
    return [*lines, f"  %size{i} = add i64 {items}, 0", f"  %bytes{i} = add i64 {stride}, 0"]


def _copy(target: str, source: str, size: str) -> str:
    return f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)"


def _first(slots: Sequence[Slot], mode: Mode, options: Sequence[str]) -> list[str]:
    """Return the first derivative as a function, of which a second one is made; nothing otherwise."""
    if mode.order == 1:
        return []
    return [
        f"define internal void @first({_parameters(slots, 'noalias', 'bd')}) {{",
        *_loaded(),
        *_differentiate(mode, slots, [_CAREFUL, *options]),
        "  ret void",
        "}",
    ]


def _differentiate(mode: Mode, slots: Sequence[Slot], options: Sequence[str]) -> list[str]:
    """Return the call by which Enzyme makes the first derivative of `primal`."""
    kind = "fwddiff" if mode.opens == "out" else "autodiff"
    arguments = [*options, "i32 %const", "ptr %status"]
    for i, slot in enumerate(slots):
        arguments += (
            ["i32 %dup", f"ptr %b{i}", f"ptr %d{i}"] if slot.is_active else ["i32 %const", f"ptr %b{i}"]
        )
    arguments += chain.from_iterable(("i32 %const", f"i64 {x}") for x in _extents(slots))
    return [f"  call void (...) @__enzyme_{kind}.first(ptr @primal, {', '.join(arguments)})"]


def _loaded() -> list[str]:
    return [f"  %{flag.removeprefix('enzyme_')} = load i32, ptr @{flag}" for flag in _FLAGS]


def _entry(slots: Sequence[Slot], mode: Mode, options: Sequence[str]) -> str:
    """Return the function that reads the table, and calls the derivative."""
    lines, place = [], 0

    def read(name: str, kind: str) -> None:
        nonlocal place
        lines.append(f"  {name}.at = getelementptr i64, ptr %table, i64 {place}")
        lines.append(f"  {name} = load {kind}, ptr {name}.at")
        place += 1

    read("%status", "ptr")
    read("%careful", "i64")
    for i, slot in enumerate(slots):
        # A buffer, its tangent, and at order 2 the tangents of both.
        for name in ("b", "d", "b.t", "d.t")[: 2**mode.order if slot.is_active else 1]:
            read(f"%{name}{i}", "ptr")
    for x in _extents(slots):
        read(x, "i64")
    lines += _loaded()
    if mode.order == 1:
        lines += [
            "  %is_careful = icmp ne i64 %careful, 0",
            "  br i1 %is_careful, label %with_care, label %without",
            "without:",
            *_differentiate(mode, slots, options),
            "  ret void",
            "with_care:",
            *_differentiate(mode, slots, [_CAREFUL, *options]),
        ]
    else:
        arguments = [_CAREFUL, *options, "i32 %const", "ptr %status"]
        for i, slot in enumerate(slots):
            if slot.is_active:
                arguments += [f"i32 %dup, ptr %{x}{i}, ptr %{x}.t{i}" for x in "bd"]
            else:
                arguments += [f"i32 %const, ptr %b{i}"]
        arguments += [f"i32 %const, i64 {x}" for x in _extents(slots)]
        lines.append(f"  call void (...) @__enzyme_fwddiff.second(ptr @first, {', '.join(arguments)})")
    unused = "ptr %results, ptr %options, ptr %parameters"
    return "\n".join(
        [
            f"define void @{NAME}({unused}, ptr %buffers, ptr %reserved, ptr %counters) {{",
            "  %table = load ptr, ptr %buffers",
            *lines,
            "  ret void",
            "}",
        ]
    )
