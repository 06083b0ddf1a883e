"""Emit a run of the shares of a parallel region as if all began at one moment, for the debug mode.

The shares run one after the other, in an order that changes from region to region. Each finds the kernel's
outputs as they were when the region began; at its end they get what each share has written. Where no share
touches what another one writes, that is what threads compute. Where one does, the result is wrong on the
smallest input, as it is now and then on threads: a sum loses terms, a neighbour is not there yet. Two shares
that write different values to one element are reported. Memory that a kernel allocates itself is not watched:
there only the order of the shares shows.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from llvmlite import ir

from ffi_bridge.handler.c_code import begin_function, call_c, count_to, load_member, member, variable
from ffi_bridge.handler.frame import I32, I64, NULL, POINTER, Frame

# An output: its address, its bytes, the bytes of an element, whether shares wrote different values to one.
OUTPUT: Final = ir.LiteralStructType((POINTER, I64, I64, I64))
DATA, SIZE, ITEM, DIFFERS = range(4)
# How many outputs there are, and where.
OUTPUTS: Final = ir.LiteralStructType((I64, OUTPUT.as_pointer()))
COUNT, FIRST = range(2)

NONE: Final = ir.VoidType()
# run(shared, share, thread): do one share of a region; `shared` is what its threads have in common.
RUN: Final = ir.FunctionType(NONE, (POINTER, I64, I64))
ISOLATED: Final = ir.FunctionType(NONE, (OUTPUTS.as_pointer(), RUN.as_pointer(), POINTER, I64))

# The golden ratio in 64 bits: its multiples look random.
_MIX: Final = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Watched:
    """The outputs of a handler that its parallel regions watch: `table` is their address as `OUTPUTS`."""

    names: Sequence[str]
    items: Sequence[Any]
    table: Any

    @classmethod
    def of(cls, builder: Any, names: Sequence[str], places: Sequence[tuple[Any, Any, int]]) -> Watched:
        """Emit the table of outputs; `places`: address, bytes, and bytes of an element, of each."""
        with builder.goto_entry_block():
            table = builder.alloca(OUTPUTS)
            first = builder.alloca(OUTPUT, len(places))
        builder.store(ir.Constant(I64, len(places)), member(builder, table, COUNT))
        builder.store(first, member(builder, table, FIRST))
        items = [builder.gep(first, [ir.Constant(I64, i)]) for i in range(len(places))]
        for item, (data, size, itemsize) in zip(items, places, strict=True):
            values = data, size, ir.Constant(I64, itemsize), ir.Constant(I64, 0)
            for index, value in enumerate(values):
                builder.store(value, member(builder, item, index))
        return cls(names, items, builder.bitcast(table, POINTER))

    def check(self, frame: Frame, kernel: str) -> None:
        """Return an error if shares wrote different values to one element."""
        builder = frame.builder
        for name, item in zip(self.names, self.items, strict=True):
            differs = load_member(builder, item, DIFFERS)
            with builder.if_then(builder.icmp_unsigned("!=", differs, ir.Constant(I64, 0)), likely=False):
                frame.fail(
                    f"kernel '{kernel}' races: two shares of a parallel loop wrote different values to one "
                    f"element of its output '{name}'"
                )


def emit_isolated(module: Any) -> Any:
    """Emit `isolated(outputs, run, shared, shares)`, which calls `run(shared, share)` for every share."""
    builder, (outputs, run, shared, shares) = begin_function(module, "isolated", ISOLATED)
    merge, first = _emit_merge(module), ir.Constant(I64, 0)
    turned = _order(builder, module, shares)
    block = call_c(builder, "malloc", POINTER, [_bytes(builder, outputs)])
    with builder.if_then(builder.icmp_unsigned("==", block, NULL), likely=False):
        with count_to(builder, shares) as i:
            # Without memory for copies the shares just run, one after the other.
            builder.call(run, (shared, i, first))
        builder.ret_void()
    with _each(builder, outputs, block) as (item, begun, merged):
        for copy in (begun, merged):
            _copy(builder, copy, load_member(builder, item, DATA), item)
    with count_to(builder, shares) as i:
        with _each(builder, outputs, block) as (item, begun, _):
            _copy(builder, load_member(builder, item, DATA), begun, item)
        # Each share finds the outputs as they were at the begin.
        builder.call(run, (shared, turned(i), first))
        with _each(builder, outputs, block) as (item, begun, merged):
            builder.call(merge, (item, begun, merged))
    with _each(builder, outputs, block) as (item, _, merged):
        _copy(builder, load_member(builder, item, DATA), merged, item)
    call_c(builder, "free", NONE, [block])
    builder.ret_void()
    return builder.function


def _emit_merge(module: Any) -> Any:
    """Take over the elements of an output that are not as they were when the region began."""
    kind = ir.FunctionType(NONE, (OUTPUT.as_pointer(), POINTER, POINTER))
    builder, (item, begun, merged) = begin_function(module, "merge", kind)
    itemsize = load_member(builder, item, ITEM)
    with count_to(builder, builder.udiv(load_member(builder, item, SIZE), itemsize)) as i:
        offset = builder.mul(i, itemsize)
        old, taken, new = (
            builder.gep(start, [offset]) for start in (begun, merged, load_member(builder, item, DATA))
        )
        with builder.if_then(_differ(builder, new, old, itemsize)):
            earlier = builder.and_(
                _differ(builder, taken, old, itemsize), _differ(builder, taken, new, itemsize)
            )
            with builder.if_then(earlier, likely=False):
                builder.store(ir.Constant(I64, 1), member(builder, item, DIFFERS))
            call_c(builder, "memcpy", POINTER, [taken, new, itemsize])
    builder.ret_void()
    return builder.function


def _order(builder: Any, module: Any, shares: Any) -> Any:
    """Emit the order of this region's shares, which begins anywhere and goes up or down.

    Returns a function: turn number -> share.
    """
    turns: Any = ir.GlobalVariable(module, I64, "turns")
    turns.initializer = ir.Constant(I64, 0)
    turn = builder.atomic_rmw("add", turns, ir.Constant(I64, 1), "monotonic")
    mixed = builder.mul(turn, ir.Constant(I64, _MIX))
    # The upper half, as the lower bits of a product hardly mix.
    start = builder.urem(builder.lshr(mixed, ir.Constant(I64, 32)), shares)
    is_down = builder.icmp_signed("<", mixed, ir.Constant(I64, 0))

    def turned(i: Any) -> Any:
        up = builder.urem(builder.add(i, start), shares)
        last = builder.sub(shares, ir.Constant(I64, 1))
        return builder.select(is_down, builder.sub(last, up), up)

    return turned


def _bytes(builder: Any, outputs: Any) -> Any:
    """Add up the bytes of two copies of every output, and one more."""
    # One, as `malloc` may return NULL for no bytes.
    total = variable(builder, ir.Constant(I64, 1), "total")
    with count_to(builder, load_member(builder, outputs, COUNT)) as i:
        size = load_member(builder, builder.gep(load_member(builder, outputs, FIRST), [i]), SIZE)
        builder.store(builder.add(builder.load(total), builder.add(size, size)), total)
    return builder.load(total)


@contextmanager
def _each(builder: Any, outputs: Any, block: Any) -> Generator[tuple[Any, Any, Any]]:
    """Emit a loop over the outputs; yields an output, and the addresses of its two copies in the block."""
    next_copy = variable(builder, block, "next_copy")
    with count_to(builder, load_member(builder, outputs, COUNT)) as i:
        item = builder.gep(load_member(builder, outputs, FIRST), [i])
        size, begun = load_member(builder, item, SIZE), builder.load(next_copy)
        merged = builder.gep(begun, [size])
        builder.store(builder.gep(merged, [size]), next_copy)
        yield item, begun, merged


def _copy(builder: Any, to: Any, of: Any, item: Any) -> None:
    call_c(builder, "memcpy", POINTER, [to, of, load_member(builder, item, SIZE)])


def _differ(builder: Any, a: Any, b: Any, size: Any) -> Any:
    comparison = call_c(builder, "memcmp", I32, [a, b, size])
    return builder.icmp_unsigned("!=", comparison, ir.Constant(I32, 0))
