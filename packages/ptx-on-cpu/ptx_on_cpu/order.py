"""Tell whether the order in which blocks run can change a kernel's results."""

from __future__ import annotations

from typing import Final

from ptx_on_cpu.syntax.program import Function, Instruction

_EXACT: Final = frozenset({"s32", "u32", "s64", "u64", "b32", "b64"})
_COMMUTATIVE: Final = frozenset({"add", "min", "max", "and", "or", "xor"})
_STRONG: Final = frozenset({"volatile", "relaxed", "acquire", "mmio"})


def blocks_are_independent(function: Function) -> bool:
    """Return whether blocks neither communicate nor leave results that depend on their order.

    Sums of integers by atomics that return nothing do not; sums of floats do, in their last bits.
    """
    return not any(map(_depends_on_order, function.body))


def _depends_on_order(each: Instruction) -> bool:
    parts = set(each.parts)
    if each.name in ("atom", "red") and "shared" not in parts:
        is_read = each.name == "atom" and each.operands[0] != "_"
        return is_read or each.parts[-1] not in _EXACT or not parts & _COMMUTATIVE
    if each.name in ("ld", "ldu") and "shared" not in parts:
        return bool(parts & _STRONG)
    return each.name == "call"  # of a function of the host, such as printf
