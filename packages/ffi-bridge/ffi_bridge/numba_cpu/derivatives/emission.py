"""Emit Numba's code so that Enzyme follows it: copies and zeros as loops, indices as products and sums.

Enzyme asks of what type a `memcpy` or a `memset` is, and cannot always tell. And its reverse mode is to keep
fewer numbers: in an array expression an axis of extent 1 is read at 0 all along. Numba leaves its index as it
was in the turn before, which cannot be computed anew, and an index would be kept beside each number: a
product with the loop's index can. And Numba adds up products of indices and strides. In
`(i * n + j) * 4 + k` LLVM sees that elements with another k are other elements, whatever i and j are, so that
an element that was read before is not read, and kept, again.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numba
from llvmlite import ir

from ffi_bridge.native.private_api import look_up, private_api, replaced
from ffi_bridge.numba_cpu.internals import TESTED

with private_api("numba", numba.__version__, TESTED):
    from numba.core import cgutils as _emit
    from numba.np.npyimpl import _ArrayIndexingHelper  # pyright: ignore[reportPrivateUsage]

    look_up(_emit, "get_item_pointer2", "raw_memcpy", "memset", "sizeof", "for_range")
    look_up(_ArrayIndexingHelper, "update_indices")

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

    with replaced(emit, raw_memcpy=copied, memset=filled):
        yield


@contextmanager
def plain_indices() -> Generator[None]:
    """Emit indices within the block as products and sums of the loops' own."""
    helper: Any = _ArrayIndexingHelper
    address = _by_horner(_emit.get_item_pointer2)
    with replaced(_emit, get_item_pointer2=address), replaced(helper, update_indices=_update):
        yield


def _update(self: Any, loop_indices: Sequence[Any], name: Any) -> None:
    """Store the index of an array for each of its axes, which are the last ones of the loops."""
    builder = self.array.builder
    inner = loop_indices[len(loop_indices) - len(self.indices) :]
    for index, place, extent in zip(inner, self.indices, self.array.shape, strict=True):
        # An axis of extent 1 is read at 0 all along: times 0, not by a branch.
        step = builder.zext(builder.icmp_unsigned(">", extent, extent.type(1)), extent.type)
        builder.store(builder.mul(index, step), place)


def _by_horner(other: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that emits an element's address: by Horner's rule where an array is contiguous."""

    def address(
        context: Any,
        builder: Any,
        data: Any,
        shape: Sequence[Any],
        strides: Sequence[Any],
        layout: str,
        inds: Sequence[Any],
        wraparound: bool = False,
        boundscheck: bool = False,
    ) -> Any:
        # Numba's function knows other layouts, and checks bounds.
        if layout != "C" or len(inds) < 2 or boundscheck:
            return other(context, builder, data, shape, strides, layout, inds, wraparound, boundscheck)
        indices = [_wrapped(builder, x, n) if wraparound else x for x, n in zip(inds, shape, strict=False)]
        indices += [inds[0].type(0)] * (len(shape) - len(indices))  # a row begins at its first element
        place = indices[0]
        for index, extent in zip(indices[1:], shape[1:], strict=True):
            place = builder.add(builder.mul(place, extent), index)
        return builder.gep(data, [place])

    return address


def _wrapped(builder: Any, index: Any, extent: Any) -> Any:
    """Emit an index, of which a negative one counts from the end."""
    negative = builder.icmp_signed("<", index, index.type(0))
    return builder.select(negative, builder.add(extent, index), index)
