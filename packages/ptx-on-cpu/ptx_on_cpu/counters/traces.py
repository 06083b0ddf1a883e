"""The traces of a counted launch, their descriptions, and the order in which warps execute them."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ptx_on_cpu.buffers import ADDRESS_BITS, ADDRESS_MASK, Buffer
from ptx_on_cpu.records import WARP

Trace = NDArray[Any]  # of ACCESS or EXECUTED
Flags = NDArray[np.bool_]


class Instruction(Protocol):
    """An instruction of a kernel: "ld.global.nc.v4.f32", and "file.py:12" if debug information has it."""

    @property
    def opcode(self) -> str: ...

    @property
    def line(self) -> str | None: ...


def issued(trace: Trace, pc: str) -> NDArray[np.uint64]:
    """Return block << 32 | warp << 27 | pc: which warp executed which instruction; `pc` names its field."""
    block, warp = trace["block"].astype(np.uint64), trace["rank"].astype(np.uint64) // WARP
    return (block << 32 | warp << 27 | trace[pc]).astype(np.uint64)


def order_by(*keys: NDArray[Any]) -> NDArray[np.intp]:
    """Return the order that sorts by the first key, then by the next."""
    return np.lexsort(keys[::-1])


def begins(*keys: NDArray[Any]) -> Flags:
    """Return where a run of equal keys begins."""
    starts = np.zeros(len(keys[0]), bool)
    starts[:1] = True
    for key in keys:
        starts[1:] |= key[1:] != key[:-1]
    return starts


def total(index: NDArray[Any], amount: NDArray[Any], length: int) -> NDArray[np.int64]:
    """Return the sum of amounts at each index below `length`; exact to 2**53."""
    return np.bincount(index, amount, length).astype(np.int64)


def rows_of(accesses: Trace, space: int) -> Trace:
    """Return the accesses of one space."""
    return accesses[accesses["space"] == space]


def located(accesses: Trace, buffers: Sequence[Buffer]) -> tuple[Trace, NDArray[np.intp]]:
    """Return accesses to global memory with addresses that count from their buffer's start, and its index.

    CUDA allocates at multiples of 256 bytes, NumPy does not: without this, where an array happens to lie
    decides on how many sectors it has. Index `len(buffers)` is for addresses outside of all. The upper 16
    bits of each address are the index.
    """
    # Of buffers at one address the largest is last, which the search finds.
    by_start = sorted(range(len(buffers)), key=lambda i: (buffers[i].address, buffers[i].size))
    starts = np.array([buffers[i].address for i in by_start], np.uint64)
    sizes = np.array([buffers[i].size for i in by_start], np.uint64)
    address, index = accesses["address"], np.full(len(accesses), len(buffers), np.intp)
    place = np.searchsorted(starts, address, "right") - 1
    offset = address.copy()
    inside = np.flatnonzero(place >= 0)
    inside = inside[address[inside] - starts[place[inside]] < sizes[place[inside]]]
    offset[inside] -= starts[place[inside]]
    index[inside] = np.array(by_start, np.intp)[place[inside]]
    moved = accesses.copy()
    moved["address"] = index.astype(np.uint64) << ADDRESS_BITS | offset & ADDRESS_MASK
    return moved, index


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
    name, *modifiers = opcode.split(".")
    if name in ("ld", "ldu", "st"):
        # `ld.shared::cta`, `ld.param::entry`
        spaces = (modifier.split("::")[0] for modifier in modifiers)
        return f"memory.{next((space for space in spaces if space in _SPACES), 'generic')}"
    if name in _KINDS:
        return _KINDS[name]
    # The type of operands comes last, behind that of a result.
    kind = next((_TYPES[modifier] for modifier in reversed(modifiers) if modifier in _TYPES), "integer")
    return "special" if name == "div" and kind != "integer" else kind
