"""Indices of array expressions as products of the loop's index.

An axis of extent 1 is read at 0 all along. Numba leaves its index as it was in the turn before, which the
reverse mode cannot compute anew: it would keep an index beside each number.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numba

from ffi_bridge.native.inner_names import inner_names, look_up
from ffi_bridge.numba_cpu.internals import TESTED

with inner_names("numba", numba.__version__, TESTED):
    from numba.np import npyimpl

    look_up(npyimpl, "_ArrayIndexingHelper")
    look_up(npyimpl._ArrayIndexingHelper, "update_indices")


@contextmanager
def recomputed_indices() -> Generator[None]:
    """Emit the indices of array expressions within the block such that they follow from the loop's own."""
    helper: Any = npyimpl._ArrayIndexingHelper
    before = helper.update_indices

    def update(self: Any, loop_indices: Sequence[Any], name: Any) -> None:
        builder = self.array.builder
        inner = loop_indices[len(loop_indices) - len(self.indices) :]
        for index, place, extent in zip(inner, self.indices, self.array.shape, strict=True):
            step = builder.zext(builder.icmp_unsigned(">", extent, extent.type(1)), extent.type)
            builder.store(builder.mul(index, step), place)

    helper.update_indices = update
    try:
        yield
    finally:
        helper.update_indices = before
