"""Copies of arrays, and zeros, as loops over numbers.

Enzyme asks of what type a `memcpy` or a `memset` is, and cannot always tell.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import numba
from llvmlite import ir

from ffi_bridge.native.private_api import inner_names, look_up
from ffi_bridge.numba_cpu.internals import TESTED

with inner_names("numba", numba.__version__, TESTED):
    from numba.core import cgutils as _emit

    look_up(_emit, "raw_memcpy", "memset", "sizeof", "for_range")

_NUMBERS: Final = ir.FloatType | ir.DoubleType


@contextmanager
def typed_copies() -> Generator[None]:
    """Emit copies and zeros of floats as loops within the block; in the end LLVM makes them calls again."""
    emit: Any = _emit
    copy: Callable[..., Any] = emit.raw_memcpy
    fill: Callable[..., Any] = emit.memset

    def copied(builder: Any, target: Any, source: Any, count: Any, itemsize: Any, align: int = 1) -> Any:
        if not isinstance(target.type.pointee, _NUMBERS):
            return copy(builder, target, source, count, itemsize, align)
        with emit.for_range(builder, count) as loop:
            value = builder.load(builder.gep(source, [loop.index]))
            builder.store(value, builder.gep(target, [loop.index]))
        return None

    def filled(builder: Any, target: Any, size: Any, value: Any) -> Any:
        number = target.type.pointee
        if not isinstance(number, _NUMBERS) or value != 0:
            return fill(builder, target, size, value)
        with emit.for_range(builder, builder.udiv(size, emit.sizeof(builder, target.type))) as loop:
            builder.store(number(0), builder.gep(target, [loop.index]))
        return None

    emit.raw_memcpy, emit.memset = copied, filled
    try:
        yield
    finally:
        emit.raw_memcpy, emit.memset = copy, fill
