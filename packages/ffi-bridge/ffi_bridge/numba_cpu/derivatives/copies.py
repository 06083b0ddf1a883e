"""Copies of arrays as loops over numbers: Enzyme asks of what type a `memcpy` is, and cannot always tell."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import numba
from llvmlite import ir

from ffi_bridge.native.inner_names import inner_names, look_up
from ffi_bridge.numba_cpu.internals import TESTED

with inner_names("numba", numba.__version__, TESTED):
    from numba.core import cgutils as _emit

    look_up(_emit, "raw_memcpy", "for_range")

_NUMBERS: Final = ir.FloatType | ir.DoubleType


@contextmanager
def typed_copies() -> Generator[None]:
    """Emit copies of floats as loops within the block, of which LLVM makes a `memcpy` again in the end."""
    emit: Any = _emit
    whole: Callable[..., Any] = emit.raw_memcpy

    def copied(builder: Any, target: Any, source: Any, count: Any, itemsize: Any, align: int = 1) -> Any:
        if not isinstance(target.type.pointee, _NUMBERS):
            return whole(builder, target, source, count, itemsize, align)
        with emit.for_range(builder, count) as loop:
            value = builder.load(builder.gep(source, [loop.index]))
            builder.store(value, builder.gep(target, [loop.index]))
        return None

    emit.raw_memcpy = copied
    try:
        yield
    finally:
        emit.raw_memcpy = whole
