"""Translate accesses to memory: loads, stores, atomics, addresses.

Every access goes through a function of `runtime` that checks it, and returns the place in the host's memory.
"""

import re
from collections.abc import Sequence
from typing import Final

from ptx_on_cpu.buffers import ADDRESS_MASK
from ptx_on_cpu.checks.races import ACQUIRE, BLOCK_ATOMIC, RELEASE, STRONG_LOAD, STRONG_STORE
from ptx_on_cpu.records import ATOMIC, LOAD, STORE
from ptx_on_cpu.syntax.program import width
from ptx_on_cpu.translate import floats
from ptx_on_cpu.translate.formulas import computes
from ptx_on_cpu.translate.function import Translation, emits

_SPACES: Final = ("global", "shared", "local", "param", "const")
_WHICH: Final = ("global", "shared", "local", "generic")  # as the runtime numbers them
_ADDRESS: Final = re.compile(r"([%\w$.]+)\s*(?:\+\s*(-?\w+))?")
_ATOMIC: Final = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
_NARROW: Final = ("f16", "bf16", "f16x2", "bf16x2")


def _space(t: Translation, modifiers: list[str], operand: str) -> str:
    """Return the state space of an access; parameters of inlined functions are local memory.

    A register that holds the address of a parameter may lead to either: an open question, as `window`.
    """
    # What is behind `_` names a window within the space, as in `shared_cta`.
    space = next((s for p in modifiers if (s := p.partition("_")[0]) in _SPACES), "generic")
    # Constants are buffers of the module like its other variables.
    if space == "const":
        return "global"
    if space == "param":
        stem = _stem(operand)
        return "param" if stem in t.layout.params else "frame" if stem in t.layout.local else "window"
    return space


def _stem(operand: str) -> str:
    return _ADDRESS.match(operand.strip("[] "))[1]  # pyright: ignore[reportOptionalSubscript]


def place(t: Translation, operand: str, modifiers: list[str], size: int | str, kind: int) -> str:
    """Return a pointer for an access to `[operand]`; a thread whose access is wrong ends with a fault."""
    space = _space(t, modifiers, operand)
    address = _address(t, operand)
    if space in ("frame", "param"):
        _check_parameter(t, operand, int(size))
        if space == "param":
            return t.text.new(f"call ptr @host(i64 {address})")
        return t.text.new(f"getelementptr i8, ptr %frame, i64 {address}")
    if space == "window":
        # Those of the kernel have the number of their buffer, local memory has none.
        is_local = t.text.new(f"icmp ule i64 {address}, {ADDRESS_MASK}")
        local = t.text.new(f"call i64 @local_to_generic(i64 {address})")
        address, space = t.text.new(f"select i1 {is_local}, i64 {local}, i64 {address}"), "generic"
    access = f"ptr %block, ptr %thread, ptr %frame, i64 {address}, i64 {size}, i32 {kind}, i32 {t.pc}"
    pointer = t.text.new(f"call ptr @{space}_place({access})")
    number = pointer[1:]
    t.text.do(
        f"br i1 {t.text.new(f'icmp eq ptr {pointer}, null')}, label %bad.{number}, label %good.{number}"
    )
    t.text.lines += [f"bad.{number}:", "  ret void", f"good.{number}:"]
    if t.options.counted:
        t.text.do(f"call void @accessed({access}, i64 {t.moment()}, i32 {_WHICH.index(space)})")
    return pointer


def _check_parameter(t: Translation, operand: str, size: int) -> None:
    """Raise UnsupportedError for an access beyond the parameter that an operand names."""
    sizes = {x.name: x.size for x in t.function.params} | t.layout.sizes
    offset = int(_ADDRESS.fullmatch(operand.strip("[] "))[2] or "0", 0)  # pyright: ignore[reportOptionalSubscript]
    if not 0 <= offset <= sizes[_stem(operand)] - size:
        raise t.unsupported(f"an access to {size} bytes at {operand}, beyond the parameter")


def _watch(
    t: Translation, operand: str, modifiers: list[str], behind: int, size: int, kind: int, value: str
) -> None:
    """Have the watch for races look at an access `behind` the address of an operand; `value`: of 64 bits."""
    space = _space(t, modifiers, operand)
    if not t.options.races or space not in ("global", "shared", "generic"):
        return
    address = t.text.new(f"add i64 {_address(t, operand)}, {behind}")
    which, strength = _WHICH.index(space), _strength(modifiers, kind)
    access = f"i64 {address}, i64 {size}, i32 {strength}, i32 {t.pc}, i64 {value}, i32 {which}"
    is_race = t.text.new(f"call i1 @races(ptr %block, ptr %thread, {access})")
    number = is_race[1:]
    t.text.do(f"br i1 {is_race}, label %race.{number}, label %alone.{number}")
    t.text.lines += [f"race.{number}:", "  ret void", f"alone.{number}:"]


def _strength(modifiers: list[str], kind: int) -> int:
    """Return the watch's number of an access: weak or strong, of which scope, with which order."""
    strength = kind
    if kind == ATOMIC:
        strength = BLOCK_ATOMIC if "cta" in modifiers else ATOMIC
    elif _volatile(modifiers):
        strength = STRONG_STORE if kind == STORE else STRONG_LOAD
    acquires = ACQUIRE if {"acquire", "acq_rel"} & set(modifiers) else 0
    releases = RELEASE if {"release", "acq_rel"} & set(modifiers) else 0
    return strength | acquires | releases


def _address(t: Translation, operand: str) -> str:
    inner = operand.strip("[] ")
    match = _ADDRESS.fullmatch(inner)
    if match is None:
        raise t.unsupported(f"the address {operand}")
    value = t.get(match[1], "u64")
    return t.text.new(f"add i64 {value}, {int(match[2], 0)}") if match[2] else value


@emits("ld", "ldu")
def _load(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    kind, names = modifiers[-1], _elements(operands[0])
    size = width(kind) // 8
    start = place(t, operands[1], modifiers[:-1], size * len(names), LOAD)
    for i in range(len(names)):
        _watch(t, operands[1], modifiers[:-1], i * size, size, LOAD, "0")
    # From here on the register of the address may be overwritten.
    for i, name in enumerate(names):
        at = t.text.new(f"getelementptr i8, ptr {start}, i64 {i * size}") if i else start
        value = t.text.new(f"load {_volatile(modifiers)}i{8 * size}, ptr {at}, align 1")
        t.set(name, value, kind if kind[0] == "s" else f"b{8 * size}")


@emits("st")
def _store(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    kind, names = modifiers[-1], _elements(operands[1])
    bits = width(kind)
    start = place(t, operands[0], modifiers[:-1], bits // 8 * len(names), STORE)
    for i, name in enumerate(names):
        at = t.text.new(f"getelementptr i8, ptr {start}, i64 {i * bits // 8}") if i else start
        value = t.get(name, f"b{bits}")
        if t.options.races:
            wide = t.text.resized(value, bits, 64)
            _watch(t, operands[0], modifiers[:-1], i * bits // 8, bits // 8, STORE, wide)
        t.text.do(f"store {_volatile(modifiers)}i{bits} {value}, ptr {at}, align 1")


def _elements(operand: str) -> list[str]:
    return [x.strip() for x in operand.strip("<>").split(",")] if operand.startswith("<") else [operand]


def _volatile(modifiers: list[str]) -> str:
    strong = {"volatile", "relaxed", "acquire", "release", "mmio"}
    # LLVM would merge accesses that other threads wait for.
    return "volatile " if strong & set(modifiers) else ""


@emits("atom", "red")
def _atomic(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    result, address, *values = operands if t.name == "atom" else ("_", *operands)
    kind = modifiers[-1]
    how = next(modifier for modifier in modifiers if modifier in _ATOMIC)
    # Both are of compute capability 9.0 and later.
    if width(kind) == 128 or any(
        modifier.startswith("v") and modifier[1:].isdigit() for modifier in modifiers
    ):
        raise t.refused()
    pointer = place(t, address, modifiers[:-1], width(kind) // 8, ATOMIC)
    _watch(t, address, modifiers[:-1], 0, width(kind) // 8, ATOMIC, "0")
    bits = f"i{width(kind)}"
    if how == "cas":
        expected, new = (t.get(x, f"b{width(kind)}") for x in values[:2])
        # At least as strong as any order that PTX can ask for.
        pair = t.text.new(f"cmpxchg ptr {pointer}, {bits} {expected}, {bits} {new} seq_cst seq_cst")
        t.set(result, t.text.new(f"extractvalue {{{bits}, i1}} {pair}, 0"), f"b{width(kind)}")
    elif kind in _NARROW or (kind == "f32" and how != "exch"):
        _update(t, how, kind, modifiers, pointer, values[0], result)
    else:
        value = t.get(values[0], kind)
        mine = "double" if kind == "f64" else bits
        old = t.text.new(f"atomicrmw {_operation(how, kind)} ptr {pointer}, {mine} {value} seq_cst")
        t.set(result, old, kind)


def _operation(how: str, kind: str) -> str:
    """Return LLVM's name of an atomic operation."""
    if kind == "f64":
        return {"exch": "xchg"}.get(how, f"f{how}")
    if how in ("min", "max") and kind[0] != "s":
        return f"u{how}"
    return {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}.get(how, how)


def _update(
    t: Translation, how: str, kind: str, modifiers: list[str], pointer: str, operand: str, result: str
) -> None:
    """Update a float by compare and swap: `add` of f32 flushes subnormal numbers in global memory."""
    text, bits, number = t.text, width(kind), t.text.name()[1:]
    operand_value = t.get(operand, kind)
    # Not atomic: a value that is torn only costs another turn.
    seen = text.new(f"load i{bits}, ptr {pointer}")
    before = f"before.{number}"
    text.lines += [f"  br label %{before}", f"{before}:", f"  br label %again.{number}", f"again.{number}:"]
    old = text.new(f"phi i{bits} [{seen}, %{before}], [%current.{number}, %again.{number}]")
    value = text.new(f"bitcast i{bits} {old} to float") if kind == "f32" else old
    new = floats.arithmetic(text, how, kind, modifiers, [value, operand_value])
    new = text.new(f"bitcast float {new} to i{bits}") if kind == "f32" else new
    pair = text.new(f"cmpxchg ptr {pointer}, i{bits} {old}, i{bits} {new} seq_cst seq_cst")
    text.do(f"%current.{number} = extractvalue {{i{bits}, i1}} {pair}, 0")
    done = text.new(f"extractvalue {{i{bits}, i1}} {pair}, 1")
    text.do(f"br i1 {done}, label %done.{number}, label %again.{number}")
    text.lines.append(f"done.{number}:")
    t.set(result, f"%current.{number}", f"b{bits}")


@computes("cvta", of="u64")
def _generic_address(t: Translation, kind: str, value: str) -> str:
    to, space = t.modifiers[0] == "to", t.modifiers[t.modifiers[0] == "to"]
    if space not in ("shared", "local"):
        return value
    return t.text.new(f"call i64 @{'from_generic' if to else f'{space}_to_generic'}(i64 {value})")


@computes("isspacep", of="u64", into="pred")
def _is_in_space(t: Translation, kind: str, value: str) -> str:
    return t.text.new(f"call i1 @is_{t.modifiers[0].partition('_')[0]}(i64 {value})")


@emits("cp")
def _copy(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    """Copy from global to shared memory at once: to wait for the copy is then to do nothing."""
    if modifiers[0] != "async" or "bulk" in modifiers or "mbarrier" in modifiers:
        raise t.refused()
    if modifiers[1] in ("commit_group", "wait_group", "wait_all"):
        return
    size = int(operands[2])
    to = place(t, operands[0], ["shared"], size, STORE)
    for behind in range(0, size, 4):
        _watch(t, operands[0], ["shared"], behind, 4, STORE, "0")
    wanted = _wanted(t, operands[3:-1] if "L2_cache_hint" in modifiers else operands[3:], size)
    number = to[1:]
    # Where fewer bytes are read than are written, the rest is 0.
    t.text.do(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")
    t.text.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    some = t.text.new(f"icmp ne i64 {wanted}, 0")
    t.text.do(f"br i1 {some}, label %copy.{number}, label %copied.{number}")
    t.text.lines.append(f"copy.{number}:")
    source = place(t, operands[1], ["global"], wanted, LOAD)
    for behind in range(0, size, 4):
        is_read = t.text.new(f"icmp ugt i64 {wanted}, {behind}")
        t.text.do(f"br i1 {is_read}, label %read{behind}.{number}, label %behind{behind}.{number}")
        t.text.lines.append(f"read{behind}.{number}:")
        _watch(t, operands[1], ["global"], behind, 4, LOAD, "0")
        t.text.label(f"behind{behind}.{number}")
    t.text.declare("llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    t.text.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {wanted}, i1 false)")
    t.text.label(f"copied.{number}")


def _wanted(t: Translation, operands: Sequence[str], size: int) -> str:
    """Return how many of `size` bytes a copy reads: by a predicate none or all, by a number as many."""
    if not operands:
        return str(size)
    if t.function.registers.get(operands[0].lstrip("!")) == "pred":
        return t.text.new(f"select i1 {t.get(operands[0], 'pred')}, i64 0, i64 {size}")
    number = t.text.resized(t.get(operands[0], "u32"), 32, 64)
    # What more does is left open by the PTX ISA: it is not to write beyond.
    return t.text.intrinsic("umin", "i64", number, str(size))


@emits("membar", "fence", "prefetch", "prefetchu", "discard", "applypriority")
def _order(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    """Order accesses, as the host's processors see them, too."""
    if t.name in ("membar", "fence"):
        t.text.do("fence seq_cst")
        if t.options.races:
            t.text.do(f"call void @fenced(ptr %block, ptr %thread, i64 {int('cta' not in modifiers)})")
