"""Translate the ends of threads, calls of built-in functions, and hints that have no effect."""

from collections.abc import Sequence
from typing import Final

from ptx_on_cpu.records import ASSERT, IN_GRID, PRINT, TRAP
from ptx_on_cpu.translate.function import Translation, emits

# Functions of the CUDA runtime that kernels call and that no module defines.
_HOST: Final = {"vprintf": PRINT, "__assertfail": ASSERT}
_GRID: Final = ("cudaCGGetIntrinsicHandle", "cudaCGSynchronizeGrid", "cudaCGSynchronize")
BUILTIN: Final = (*_HOST, *_GRID)


@emits("ret", "exit")
def _end(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    t.end()


@emits("trap", "brkpt")
def _trap(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    fail(t, TRAP)


def fail(t: Translation, fault: int) -> None:
    """End the thread with a fault."""
    t.text.do(f"call void @fail(ptr %thread, i32 {fault}, i32 {t.pc}, i64 0, i64 0)")
    t.text.do("ret void")


@emits("nanosleep", "griddepcontrol", "pmevent", "setmaxnreg")
def _nothing(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    """Do nothing: it is a hint."""


@emits("call")
def _call(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    """Call a built-in function; all else was inlined."""
    callee = next(operand for operand in operands if not operand.startswith("("))
    lists = [[x.strip() for x in o.strip("()").split(",") if x.strip()] for o in operands if o[0] == "("]
    results = lists.pop(0) if operands[0].startswith("(") else []
    # Parameters of calls that stay are local memory of the caller.
    arguments = [_parameter(t, name) for name in (lists[0] if lists else [])]
    if callee in _GRID:
        # Kernels only test the handle of the grid for being there.
        _result(t, results, "1")
        if callee != "cudaCGGetIntrinsicHandle":
            _result(t, results, "0")
            t.wait(IN_GRID, "grid", lambda: None)
        return
    values = [t.text.new(f"load i64, ptr {argument}, align 1") for argument in arguments]
    first, second = (*values, "0", "0")[:2]
    service = _HOST[callee]
    records = "ptr %block, ptr %thread, ptr %frame"
    value = t.text.new(f"call i64 @host_function({records}, i32 {service}, i64 {first}, i64 {second})")
    _result(t, results, value)
    if service == ASSERT:
        fail(t, TRAP)


def _parameter(t: Translation, name: str) -> str:
    return t.text.new(f"getelementptr i8, ptr %frame, i64 {t.layout.local[name]}")


def _result(t: Translation, results: list[str], value: str) -> None:
    if results:
        size = t.layout.sizes[results[0]]
        sized = t.text.resized(value, 64, 8 * size)
        t.text.do(f"store i{8 * size} {sized}, ptr {_parameter(t, results[0])}, align 1")
