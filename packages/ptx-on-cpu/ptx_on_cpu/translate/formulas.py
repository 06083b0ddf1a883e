"""Register instructions that compute one value, each as a formula of its operands' values."""

import itertools
from collections.abc import Callable, Sequence

from ptx_on_cpu.syntax.program import width
from ptx_on_cpu.translate.function import Translation, emits

Formula = Callable[..., str]


def computes(*names: str, of: str = "kind", into: str = "kind") -> Callable[[Formula], Formula]:
    """Register the function `formula(t, kind, *values)` of instructions that compute one value.

    `kind` is the last of the modifiers, `values` are what the operands behind the first hold, which gets the
    result. `of` names the operands' types, the last for all that follow, and `into` the result's: types of
    PTX, or `kind`, its `bits` alone, or `wide`, which has twice as many where a modifier says so.
    """

    def register(formula: Formula) -> Formula:
        def emitter(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
            first, *others = (_type(name, modifiers) for name in of.split())
            kinds = itertools.chain((first, *others), itertools.repeat(others[-1] if others else first))
            values = [t.get(operand, kind) for operand, kind in zip(operands[1:], kinds, strict=False)]
            t.set(operands[0], formula(t, modifiers[-1], *values), _type(into, modifiers))

        emits(*names)(emitter)
        return formula

    return register


def _type(name: str, modifiers: list[str]) -> str:
    """Return the type that a description of an instruction with these modifiers names."""
    kind = modifiers[-1]
    if name == "bits":
        return f"b{width(kind)}"
    if name == "wide" and "wide" in modifiers:
        return f"{kind[0]}{2 * width(kind)}"
    return kind if name in ("kind", "wide") else name
