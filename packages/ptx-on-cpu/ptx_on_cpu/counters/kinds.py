"""The kinds of PTX instructions."""

from __future__ import annotations

from typing import Final

# By the first part of an opcode; what is not here is arithmetic, whose kind follows from its type.
_KINDS: Final = {
    name: kind
    for kind, names in {
        "atomic": "atom red",
        "control": "bra brx ret exit call trap brkpt nanosleep setmaxnreg",
        "barrier": "bar barrier membar fence mbarrier griddepcontrol",
        "exchange": "shfl vote match redux activemask elect",
        "conversion": "cvt cvta",
        "move": "mov selp slct prmt isspacep szext mapa getctarank",
        "special": "sin cos lg2 ex2 tanh rcp rsqrt sqrt",
        "tensor": "mma wmma wgmma ldmatrix stmatrix movmatrix tcgen05",
        "texture": "tex tld4 txq suld sust sured suq",
        "copy": "cp prefetch prefetchu discard applypriority multimem",
    }.items()
    for name in names.split()
}
_SPACES: Final = ("global", "shared", "local", "param", "const")
_TYPES: Final = {"f64": "fp64", "f32": "fp32", "f32x2": "fp32"} | dict.fromkeys(
    ("f16", "f16x2", "bf16", "bf16x2"), "fp16"
)


def kind_of(opcode: str) -> str:
    """Return the kind of an instruction: "memory.global", "fp32", "integer", "control", ...

    Loads and stores are "memory." with the space that they name, "generic" without; `shfl`, `vote`, `match`
    and the like are "exchange"; what only special function units or sequences of instructions compute
    (`sin`, `rcp`, `div` of floats) is "special". Arithmetic and comparisons are "integer", which includes
    predicates and bits, "fp16", which includes bfloat16, "fp32" or "fp64".
    """
    name, *parts = opcode.split(".")
    if name in ("ld", "ldu", "st"):
        # `ld.shared::cta`, `ld.param::entry`
        spaces = (part.split("::")[0] for part in parts)
        return f"memory.{next((space for space in spaces if space in _SPACES), 'generic')}"
    if name in _KINDS:
        return _KINDS[name]
    # The type of operands comes last, behind that of a result.
    kind = next((_TYPES[part] for part in reversed(parts) if part in _TYPES), "integer")
    return "special" if name == "div" and kind != "integer" else kind
