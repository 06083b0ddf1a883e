"""Translate a kernel into a function of LLVM's that runs one thread until it ends or has to wait.

    void kernel(block, thread, frame)

Where a thread waits, it saves the registers that are still needed in its `frame`, notes in `thread` what it
waits for, and returns; called again, it goes on behind that place. Registers are integers of their width:
what an instruction takes them for is in its type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ptx_on_cpu.errors import UnsupportedError
from ptx_on_cpu.flow import Flow, targets_of
from ptx_on_cpu.records import BLOCK, ENDED, MEETINGS, PAUSED, SLICE, THREAD, offset
from ptx_on_cpu.syntax.mangled import readable
from ptx_on_cpu.syntax.program import Function, Instruction, aligned, width
from ptx_on_cpu.translate.text import FLOATS, Text, llvm_type

_FLOAT: Final = re.compile(r"0[fFdD]([0-9a-fA-F]{8,16})")
_NUMBER: Final = re.compile(r"[-+]?\d")
_GUARD: Final = "pred"
_SLOT: Final = 8  # bytes of a frame for a register


@dataclass(frozen=True)
class Options:
    """Beside bounds, which always are: check `initialised` reads and `races`; `counted`: leave traces."""

    initialised: bool = False
    races: bool = False
    counted: bool = False


Emitter = Callable[["Translation", list[str], tuple[str, ...]], None]
EMITTERS: Final[dict[str, Emitter]] = {}


def emits(*names: str) -> Callable[[Emitter], Emitter]:
    """Register the function that translates instructions of these names, from modifiers and operands."""

    def register(emitter: Emitter) -> Emitter:
        EMITTERS.update(dict.fromkeys(names, emitter))
        return emitter

    return register


@dataclass(frozen=True)
class Layout:
    """Where variables are: `params`, `shared` and `local` by offset, `globals_` by number of buffer.

    `sizes`: bytes of the local ones; `local_size`: of all of them.
    """

    params: dict[str, int]
    shared: dict[str, int]
    local: dict[str, int]
    globals_: dict[str, int]
    sizes: dict[str, int]
    local_size: int


class Translation:
    """The translation of one kernel."""

    def __init__(self, function: Function, layout: Layout, options: Options) -> None:
        self.function, self.layout, self.options = function, layout, options
        self.flow = Flow.of(function)
        self.text = Text()
        self.pc = self._block = 0
        self._resumes: list[str] = []
        self._slots: dict[str, int] = {}

    # -- The whole

    def whole(self) -> str:
        """Return the text of the function `kernel`; raise UnsupportedError for what it cannot do."""
        for block, pcs in enumerate(self.flow.blocks):
            self.text.label(f"b{block}")
            self._block = block
            self._count_block(pcs.start)
            for self.pc in pcs:
                self._instruction(self.function.body[self.pc])
            if not self.text.has_ended:
                self._fall()
        if not self.flow.blocks:
            self.text.label("b0")
            self.end()
        cells = [
            f"  {cell(name)} = alloca i{bits}\n  store i{bits} 0, ptr {cell(name)}"
            for name, bits in self._cells.items()
        ]
        cases = " ".join(f"i32 {i + 1}, label %resume{i + 1}" for i in range(len(self._resumes)))
        return "\n".join(
            [
                "define internal void @kernel(ptr noalias %block, ptr noalias %thread, ptr noalias %frame) {",
                *cells,
                f"  %fuel = alloca i32\n  store i32 {SLICE}, ptr %fuel",
                "  %cc = alloca i1\n  store i1 false, ptr %cc",
                "  %state = load i32, ptr %thread",
                f"  switch i32 %state, label %b0 [{cases}]",
                *self.text.lines,
                *self._resumes,
                "}",
            ]
        )

    @property
    def frame_size(self) -> int:
        """Return the bytes of a thread's local memory and saved registers."""
        return aligned(self._first_slot + _SLOT * len(self._slots), 64)

    @property
    def _first_slot(self) -> int:
        return aligned(self.layout.local_size, _SLOT)

    @property
    def _cells(self) -> dict[str, int]:
        """Return the width of every register, and of the number of turns of each loop where they count."""
        turns = {_turns(header): 32 for header in self.flow.loops} if self.options.counted else {}
        return {name: width(kind) for name, kind in self.function.registers.items()} | turns

    def _instruction(self, each: Instruction) -> None:
        if each.name in ("bra", "brx"):
            self._branch(each)
            return
        if each.guard:
            self._if(each.guard, f"then{self.pc}", f"else{self.pc}")
            self.text.label(f"then{self.pc}")
        emitter = EMITTERS.get(each.name)
        if emitter is None:
            raise self.unsupported(f"instruction {each.opcode}")
        emitter(self, each.parts, each.operands)
        if each.guard:
            self.text.label(f"else{self.pc}")

    def unsupported(self, what: str) -> UnsupportedError:
        """Return the error for something that this package cannot do."""
        line = self.function.body[self.pc].line if self.pc < len(self.function.body) else ""
        place = f" (at {line})" if line else ""
        name = readable(self.function.name)
        return UnsupportedError(f"kernel '{name}' has {what}, which cannot run on a CPU{place}")

    # -- Flow of control

    def _branch(self, each: Instruction) -> None:
        targets = [self._block_at(self.function.labels[x]) for x in targets_of(self.function, each)]
        edges = [f"edge{self.pc}.{i}" for i in range(len(targets))]
        if each.guard:
            self._if(each.guard, f"jump{self.pc}", f"stay{self.pc}")
            self.text.label(f"jump{self.pc}")
        if each.name == "bra":
            self._go(targets[0])
        else:
            index = self.get(each.operands[0], "u32")
            cases = " ".join(f"i32 {i}, label %{edge}" for i, edge in enumerate(edges))
            self.text.do(f"switch i32 {index}, label %{edges[0]} [{cases}]")
            for edge, target in zip(edges, targets, strict=True):
                self.text.label(edge)
                self._go(target)
        if each.guard:
            self.text.lines.append(f"stay{self.pc}:")

    def _fall(self) -> None:
        """Go from a block into the next one, or to the end."""
        self._go(self._block + 1)

    def _if(self, guard: str, yes: str, no: str) -> None:
        self.text.do(f"br i1 {self.get(guard, _GUARD)}, label %{yes}, label %{no}")

    def _block_at(self, pc: int) -> int:
        """Return the number of the block that begins at an instruction; the last one's end has one, too."""
        return self.flow.starts.index(pc) if pc < len(self.function.body) else len(self.flow.blocks)

    def _go(self, target: int) -> None:
        """Go to another block; a thread that has gone through loops for long pauses on its way."""
        if target == len(self.flow.blocks):
            self.end()
            return
        is_backward = (self._block, target) in self.flow.backward_edges
        self._count_turn(target, is_backward)
        if not is_backward:
            self.text.do(f"br label %b{target}")
            return
        left = self.text.new(f"sub i32 {self.text.new('load i32, ptr %fuel')}, 1")
        self.text.do(f"store i32 {left}, ptr %fuel")
        number = len(self._resumes) + 1
        self.text.do(
            f"br i1 {self.text.new(f'icmp eq i32 {left}, 0')}, label %pause{number}, label %b{target}"
        )
        self.text.lines.append(f"pause{number}:")
        self._leave(PAUSED, self.flow.live_into(target), f"b{target}", lambda: None)

    def end(self) -> None:
        """End the thread."""
        self.note("status", ENDED)
        self.text.do("ret void")

    def wait(self, status: int, meeting: str, resume: Callable[[], None], **noted: str | int) -> None:
        """Wait for other threads at a meeting; `resume` emits what is done behind it."""
        for name, value in dict(kind=MEETINGS.index(meeting), **noted).items():
            self.note(name, value)
        after = f"after{self.pc}"
        self._leave(status, self.flow.live_after(self.pc), after, resume)
        self.text.lines.append(f"{after}:")

    def _leave(self, status: int, live: list[str], after: str, resume: Callable[[], None]) -> None:
        """Save live registers and return; called again, restore them, do `resume` and go to `after`."""
        number = len(self._resumes) + 1
        kept = [*live, *map(_turns, self.flow.loops if self.options.counted else ())]
        for name in kept:
            self.text.do(f"store i{self._cells[name]} {self._load(name)}, ptr {self._slot(name)}")
        for name, value in {"state": number, "status": status, "pc": self.pc}.items():
            self.note(name, value)
        self.text.do("ret void")
        lines, self.text.lines = self.text.lines, [f"resume{number}:"]
        self._resumes.append("")  # keeps the number, for what `resume` may emit
        for name in kept:
            bits = self._cells[name]
            value = self.text.new(f"load i{bits}, ptr {self._slot(name)}")
            self.text.do(f"store i{bits} {value}, ptr {cell(name)}")
        resume()
        self.text.do(f"br label %{after}")
        self._resumes[number - 1] = "\n".join(self.text.lines)
        self.text.lines = lines

    def _slot(self, name: str) -> str:
        place = self._first_slot + _SLOT * self._slots.setdefault(name, len(self._slots))
        return self.text.new(f"getelementptr i8, ptr %frame, i64 {place}")

    # -- Counting

    def _count_block(self, start: int) -> None:
        """Note that a basic block is executed."""
        if self.options.counted:
            self.text.do(f"call void @executed(ptr %block, ptr %thread, i64 {self.moment()}, i32 {start})")

    def _count_turn(self, target: int, is_backward: bool) -> None:
        """Count the turns of the loop that an edge enters or goes round."""
        if self.options.counted and target in self.flow.loops:
            turns = cell(_turns(target))
            if is_backward:
                value = self.text.new(f"add i32 {self.text.new(f'load i32, ptr {turns}')}, 1")
                self.text.do(f"store i32 {value}, ptr {turns}")
            elif self._block not in self.flow.loops[target]:
                self.text.do(f"store i32 0, ptr {turns}")

    def moment(self) -> str:
        """Return a hash of the numbers of turns of all loops around this instruction, outer ones first."""
        value = "14695981039346656037"
        for header, blocks in sorted(self.flow.loops.items(), key=lambda loop: (-len(loop[1]), loop[0])):
            if self._block in blocks:
                turns = self.text.resized(self._load(_turns(header)), 32, 64)
                mixed = self.text.new(f"xor i64 {value}, {turns}")
                value = self.text.new(f"mul i64 {mixed}, 1099511628211")
        return value

    # -- Records

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

    # -- Operands

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
            own = width(self.function.registers[operand])
            return self.text.resized(self._load(operand), own, bits)
        if found := _FLOAT.fullmatch(operand):
            return str(int(found[1], 16))
        if _NUMBER.match(operand):
            number = int(re.sub(r"[uU]$", "", operand), 0)
            return str(number & ((1 << bits) - 1)) if bits > 1 else ("true" if number else "false")
        if operand.startswith("%") or operand == "WARP_SZ":
            return self.text.resized(*self._special(operand.lstrip("%")), bits)
        return self.text.resized(self.symbol(operand), 64, bits)

    def _packed(self, operand: str, bits: int) -> str:
        """Return the elements of a vector as one value, the first in the lowest bits."""
        parts = [part.strip() for part in operand.strip("<>").split(",")]
        each, total = bits // len(parts), "0"
        for i, part in enumerate(parts):
            wide = self.text.resized(self._bits(part, each), each, bits)
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
            parts = [part.strip() for part in operand.strip("<>").split(",")]
            each = bits // len(parts)
            for i, part in enumerate(parts):
                shifted = self.text.new(f"lshr i{bits} {value}, {i * each}")
                self.set(part, self.text.resized(shifted, bits, each), f"b{each}")
            return
        own = width(self.function.registers[operand])
        value = self.text.resized(value, bits, own, kind.startswith("s"))
        self.text.do(f"store i{own} {value}, ptr {cell(operand)}")

    def _load(self, register: str) -> str:
        return self.text.new(f"load i{self._cells[register]}, ptr {cell(register)}")

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


def _turns(header: int) -> str:
    return f"turns of the loop at block {header}"
