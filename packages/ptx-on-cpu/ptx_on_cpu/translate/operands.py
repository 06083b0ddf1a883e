"""Operands of instructions: registers, literals, variables, special registers, fields of records."""

import re
from dataclasses import dataclass
from typing import Any, Final

from ptx_on_cpu.errors import UnsupportedError
from ptx_on_cpu.records import BLOCK, THREAD, offset
from ptx_on_cpu.syntax.program import Function, literal, readable, width
from ptx_on_cpu.translate.text import FLOATS, Text, llvm_type

_NUMBER: Final = re.compile(r"[-+]?\d")


@dataclass(frozen=True)
class Layout:
    """Places of variables: `params`, `shared` and `local` by offset, `globals_` by number of buffer.

    `sizes`: bytes of the local ones; `local_size`: of all of them; `unwritten`: names of those without a
    value at first.
    """

    params: dict[str, int]
    shared: dict[str, int]
    local: dict[str, int]
    globals_: dict[str, int]
    sizes: dict[str, int]
    local_size: int
    unwritten: tuple[str, ...]


@dataclass(frozen=True)
class Options:
    """Code that is added to a kernel: checks, counters, and the watch.

    To watch for `races`, to leave traces where it is `counted`, to know which bytes of local memory are
    written, where reads of others are found (`initialised`).
    """

    races: bool
    counted: bool
    initialised: bool


class Operands:
    """The operands of a function's instructions; `pc`: the one that is being translated."""

    def __init__(self, function: Function, layout: Layout, options: Options) -> None:
        self.function, self.layout, self.options = function, layout, options
        self.text = Text()
        self.pc = 0

    def unsupported(self, obstacle: str) -> UnsupportedError:
        """Return the error for something that this package cannot do."""
        line = self.function.body[self.pc].line if self.pc < len(self.function.body) else ""
        place = f" (at {line})" if line else ""
        name = readable(self.function.name)
        return UnsupportedError(f"kernel '{name}' has {obstacle}, which cannot run on a CPU{place}")

    @property
    def name(self) -> str:
        """Return the name of the instruction that is being translated."""
        return self.function.body[self.pc].name

    @property
    def modifiers(self) -> list[str]:
        """Return the modifiers of the instruction that is being translated."""
        return self.function.body[self.pc].modifiers

    def refused(self) -> UnsupportedError:
        """Return the error for an instruction that this package cannot do."""
        return self.unsupported(f"instruction {self.function.body[self.pc].opcode}")

    def read(self, record: str, name: str) -> str:
        """Return a field of the record `block` or `thread`."""
        kind, place = self._field(record, name)
        return self.text.new(f"load {kind}, ptr {place}")

    def note(self, name: str, value: str | int) -> None:
        """Write a field of the thread's record."""
        kind, place = self._field("thread", name)
        self.text.do(f"store {kind} {value}, ptr {place}")

    def _field(self, record: str, name: str) -> tuple[str, str]:
        dtype: Any = {"block": BLOCK, "thread": THREAD}[record]
        place = self.text.new(f"getelementptr i8, ptr %{record}, i64 {offset(dtype, name)}")
        return f"i{8 * dtype[name].itemsize}", place

    def get(self, operand: str, kind: str) -> str:
        """Return an operand's value as an instruction of this type sees it."""
        bits = width(kind)
        value = self._bits(operand, bits)
        return self.text.new(f"bitcast i{bits} {value} to {FLOATS[kind]}") if kind in FLOATS else value

    def _bits(self, operand: str, bits: int) -> str:
        if operand.startswith("!"):
            return self.text.new(f"xor i1 {self._bits(operand[1:], 1)}, true")
        if operand.startswith("<"):
            return self._packed(operand, bits)
        if operand in self.function.registers:
            register_bits = width(self.function.registers[operand])
            return self.text.resized(self.load(operand), register_bits, bits)
        if _NUMBER.match(operand):
            number = literal(operand, max(8, bits))
            if number is None:
                raise self.unsupported(f"the constant {operand} as a number of {bits} bits")
            return str(number) if bits > 1 else ("true" if number else "false")
        if operand.startswith("%") or operand == "WARP_SZ":
            return self.text.resized(*self._special(operand.lstrip("%")), bits)
        return self.text.resized(self.symbol(operand), 64, bits)

    def _packed(self, operand: str, bits: int) -> str:
        """Return the elements of a vector as one value, the first in the lowest bits."""
        elements = [element.strip() for element in operand.strip("<>").split(",")]
        each, total = bits // len(elements), "0"
        for i, element in enumerate(elements):
            wide = self.text.resized(self._bits(element, each), each, bits)
            total = self.text.new(f"or i{bits} {total}, {self.text.new(f'shl i{bits} {wide}, {i * each}')}")
        return total

    def set(self, operand: str, value: str, kind: str) -> None:
        """Write a register, or the registers of a vector, with a value of this type."""
        bits = width(kind)
        if operand == "_":
            return
        if kind in FLOATS:
            value = self.text.new(f"bitcast {llvm_type(kind, bits)} {value} to i{bits}")
        if operand.startswith("<"):
            elements = [element.strip() for element in operand.strip("<>").split(",")]
            each = bits // len(elements)
            for i, element in enumerate(elements):
                shifted = self.text.new(f"lshr i{bits} {value}, {i * each}")
                self.set(element, self.text.resized(shifted, bits, each), f"b{each}")
            return
        register_bits = width(self.function.registers[operand])
        value = self.text.resized(value, bits, register_bits, kind.startswith("s"))
        self.text.do(f"store i{register_bits} {value}, ptr {cell(operand)}")

    def load(self, register: str) -> str:
        """Return the value of a register."""
        bits = width(self.function.registers[register])
        return self.text.new(f"load i{bits}, ptr {cell(register)}")

    def symbol(self, operand: str) -> str:
        """Return the address of a variable, with an offset behind `+`."""
        name, _, behind = operand.partition("+")
        name, layout = name.strip(), self.layout
        if name in layout.local:
            value = str(layout.local[name])
        elif name in layout.params:
            value = self.text.new(f"add i64 {self.read('block', 'params')}, {layout.params[name]}")
        elif name in layout.shared:
            value = str(layout.shared[name])
        elif name in layout.globals_:
            value = self.text.new(f"call i64 @address_of(ptr %block, i64 {layout.globals_[name]})")
        else:
            raise self.unsupported(f"the address of '{name}'")
        return self.text.new(f"add i64 {value}, {int(behind, 0)}") if behind else value

    def _special(self, register: str) -> tuple[str, int]:
        """Return a special register, and its width."""
        stem, _, axis = register.partition(".")
        new = self.text.new
        if stem == "tid":
            return self.read("thread", axis), 32
        if stem in ("ntid", "ctaid", "nctaid"):
            return self.read("block", register.replace(".", "_")), 32
        if register in ("clock64", "globaltimer"):
            return self.text.call("llvm.readcyclecounter", "i64"), 64
        if register in ("clock", "globaltimer_lo"):
            return self.text.resized(self.text.call("llvm.readcyclecounter", "i64"), 64, 32), 32
        if register in ("dynamic_smem_size", "total_smem_size"):
            return self.read("block", {"d": "dynamic", "t": "shared_size"}[register[0]]), 32
        if register == "nwarpid":
            threads = [self.read("block", f"ntid_{axis}") for axis in "xyz"]
            count = new(f"mul i32 {new(f'mul i32 {threads[0]}, {threads[1]}')}, {threads[2]}")
            return new(f"lshr i32 {new(f'add i32 {count}, 31')}, 5"), 32
        if register in ("WARP_SZ", "gridid", "smid", "nsmid"):
            # One multiprocessor for all blocks.
            return {"WARP_SZ": "32", "nsmid": "1"}.get(register, "0"), 32
        rank = self.read("thread", "rank")
        lane = new(f"and i32 {rank}, 31")
        if register == "laneid":
            return lane, 32
        if register == "warpid":
            return new(f"lshr i32 {rank}, 5"), 32
        if stem.startswith("lanemask_"):
            return self._lane_mask(register.removeprefix("lanemask_"), lane), 32
        raise self.unsupported(f"the special register %{register}")

    def _lane_mask(self, which: str, lane: str) -> str:
        new = self.text.new
        bit = new(f"shl i32 1, {lane}")
        below = new(f"sub i32 {bit}, 1")
        if which in ("eq", "lt"):
            return bit if which == "eq" else below
        upto = new(f"or i32 {below}, {bit}")
        return upto if which == "le" else new(f"xor i32 {below if which == 'ge' else upto}, -1")


def cell(name: str) -> str:
    """Return where a register's value is while a thread runs; LLVM makes a value in SSA form of it."""
    return '%"' + f'r.{name}"'
