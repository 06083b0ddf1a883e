"""Translate a kernel into a function of LLVM's that runs one thread until it ends or has to wait.

    void kernel(block, thread, frame)

Where a thread waits, it saves the registers that are still needed in its `frame`, notes in `thread` what it
waits for, and returns; called again, it goes on behind that place. Registers are integers of their width:
what an instruction takes them for is in its type.
"""

from collections.abc import Callable, Sequence
from typing import Final

from ptx_on_cpu.flow import Flow, targets_of
from ptx_on_cpu.passing import Mark, Passing, can_be_passed
from ptx_on_cpu.records import ENDED, MEETINGS, NOTHING_BEHIND, PAUSED, SLICE
from ptx_on_cpu.syntax.program import Function, Instruction, aligned, is_unknown_type, width
from ptx_on_cpu.translate.operands import Layout, Operands, Options, cell

_GUARD: Final = "pred"
CARRY: Final = "the carry flag"
_SLOT: Final = 8  # bytes of a frame for a register
_COUNT: Final = 8  # bytes of a frame for a count of meetings


Emitter = Callable[["Translation", list[str], Sequence[str]], None]
EMITTERS: Final[dict[str, Emitter]] = {}


def emits(*names: str) -> Callable[[Emitter], Emitter]:
    """Register the function that translates instructions of these names, from modifiers and operands."""

    def register(emitter: Emitter) -> Emitter:
        EMITTERS.update(dict.fromkeys(names, emitter))
        return emitter

    return register


class Translation(Operands):
    """The translation of one kernel."""

    def __init__(self, function: Function, layout: Layout, options: Options) -> None:
        super().__init__(function, layout, options)
        self.flow = Flow.of(function)
        self._block = 0
        self._resumes: list[str] = []
        self._slots: dict[str, int] = {}
        self._forms: dict[str, int] = {}
        passing, body = Passing(self.flow), function.body
        blocks = [x for x, pcs in enumerate(self.flow.blocks) if any(can_be_passed(body[pc]) for pc in pcs)]
        self._marks = {block: marks for block in blocks if (marks := passing.marks(block))}
        # Meetings behind which lies the same share a count.
        self._counts: dict[tuple[Mark, ...], int] = {}
        for marks in self._marks.values():
            self._counts.setdefault(marks, len(self._counts))
        # Registers beside those of the text, which a thread that waits saves, too.
        own = dict.fromkeys(map(_turns, self.flow.loops if options.counted else ()), "b32")
        if any("cc" in each.modifiers for each in body):
            own[CARRY] = "pred"
        function.registers |= own
        self._own = list(own)

    # -- The whole

    def whole(self) -> str:
        """Return the text of the function `kernel`; raise UnsupportedError for an unknown instruction."""
        for block, pcs in enumerate(self.flow.blocks):
            self.text.label(f"b{block}")
            self._block = block
            if self.options.counted:
                place = f"i64 {self.moment()}, i32 {pcs.start}"
                self.text.do(f"call void @executed(ptr %block, ptr %thread, {place})")
            for self.pc in pcs:
                self._instruction(self.function.body[self.pc])
            if not self.text.has_ended:
                self._go(self._block + 1)
        if not self.flow.blocks:
            self.text.label("b0")
            self.end()
        cells = [
            f"  {cell(name)} = alloca i{width(kind)}\n  store i{width(kind)} 0, ptr {cell(name)}"
            for name, kind in self.function.registers.items()
        ]
        cases = " ".join(f"i32 {i + 1}, label %resume{i + 1}" for i in range(len(self._resumes)))
        return "\n".join(
            [
                "define internal void @kernel(ptr noalias %block, ptr noalias %thread, ptr noalias %frame) {",
                *cells,
                f"  %fuel = alloca i32\n  store i32 {SLICE}, ptr %fuel",
                "  %state = load i32, ptr %thread",
                f"  switch i32 %state, label %begin [{cases}]",
                *self._begin(),
                *self.text.lines,
                *self._resumes,
                "}",
            ]
        )

    # -- Frames: local memory, which of its bytes are written, counts of meetings, saved registers

    @property
    def frame_size(self) -> int:
        """Return the bytes of a thread's frame."""
        return aligned(self._first_slot + _SLOT * len(self._slots), 64)

    @property
    def local_shadow(self) -> int:
        """Return the place in a frame that says which bytes of local memory are written; 0: none."""
        return self.layout.local_size if self.options.initialised else 0

    @property
    def _first_count(self) -> int:
        return aligned(self.layout.local_size + self.local_shadow, _COUNT)

    @property
    def _first_slot(self) -> int:
        return aligned(self._first_count + _COUNT * len(self._counts), _SLOT)

    def _begin(self) -> list[str]:
        """Return the instructions with which a thread begins: nothing is written or counted yet."""
        lines, self.text.lines = self.text.lines, ["begin:"]
        self.note("judged", 0)
        self.forget_counts()
        if self.local_shadow:
            self._fill(self.local_shadow, 1, self.layout.local_size)
            for name in self.layout.unwritten:
                self._fill(self.local_shadow + self.layout.local[name], 0, self.layout.sizes[name])
        self.text.do("br label %b0")
        begun, self.text.lines = self.text.lines, lines
        return begun

    def _fill(self, start: int, value: int, size: int) -> None:
        """Fill bytes of the frame."""
        if size:
            place = self._in_frame(start)
            self.text.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            self.text.do(f"call void @llvm.memset.p0.i64(ptr {place}, i8 {value}, i64 {size}, i1 false)")

    def _in_frame(self, start: int) -> str:
        return self.text.new(f"getelementptr i8, ptr %frame, i64 {start}")

    # -- Meetings

    def form(self) -> int:
        """Return a number for the opcode: lanes meet by the same one, with all of its modifiers."""
        return self._forms.setdefault(self.function.body[self.pc].opcode, len(self._forms))

    def forget_counts(self) -> None:
        """Count meetings anew, as when a thread begins, or all threads of its block have met."""
        self._fill(self._first_count, 0, _COUNT * len(self._counts))

    def behind(self) -> int:
        """Return the place that counts how often the thread was behind this meeting."""
        marks = self._marks.get(self._block)
        return NOTHING_BEHIND if marks is None else self._first_count + _COUNT * self._counts[marks]

    def _count_marks(self, target: int, is_backward: bool) -> None:
        """Count that the thread comes to the instructions behind a meeting.

        A count has a digit for each mark, the outermost first; inner ones begin anew where one grows.
        """
        for marks, i in self._counts.items():
            for level, mark in enumerate(marks):
                if mark.block == target and (mark.again or not is_backward):
                    place = self._in_frame(self._first_count + _COUNT * i)
                    # The digits of a count share its bits evenly.
                    shift = 8 * _COUNT // len(marks) * level
                    before = self.text.new(f"load i64, ptr {place}")
                    digits = self.text.new(f"lshr i64 {before}, {shift}")
                    more = self.text.new(f"add i64 {digits}, 1")
                    self.text.do(f"store i64 {self.text.new(f'shl i64 {more}, {shift}')}, ptr {place}")

    def _instruction(self, each: Instruction) -> None:
        if each.name in ("bra", "brx"):
            self._branch(each)
            return
        if each.guard:
            self._if(each.guard, f"then{self.pc}", f"else{self.pc}")
            self.text.label(f"then{self.pc}")
        emitter = EMITTERS.get(each.name)
        if emitter is None or any(map(is_unknown_type, each.modifiers)):
            raise self.refused()
        emitter(self, each.modifiers, each.operands)
        if each.guard:
            self.text.label(f"else{self.pc}")

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
        self._count_marks(target, is_backward)
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
        """Wait for a meeting of threads; `resume` emits the code behind it."""
        for name, value in dict(kind=MEETINGS.index(meeting), **noted).items():
            self.note(name, value)
        after = f"after{self.pc}"
        self._leave(status, self.flow.live_after(self.pc), after, resume)
        self.text.lines.append(f"{after}:")

    def _leave(self, status: int, live: list[str], after: str, resume: Callable[[], None]) -> None:
        """Save live registers and return; called again, restore them, do `resume` and go to `after`."""
        number = len(self._resumes) + 1
        saved = [*live, *self._own]
        for name in saved:
            bits = width(self.function.registers[name])
            self.text.do(f"store i{bits} {self.load(name)}, ptr {self._slot(name)}")
        for name, value in {"state": number, "status": status, "pc": self.pc}.items():
            self.note(name, value)
        self.text.do("ret void")
        lines, self.text.lines = self.text.lines, [f"resume{number}:"]
        self._resumes.append("")  # keeps the number, for what `resume` may emit
        for name in saved:
            bits = width(self.function.registers[name])
            value = self.text.new(f"load i{bits}, ptr {self._slot(name)}")
            self.text.do(f"store i{bits} {value}, ptr {cell(name)}")
        resume()
        self.text.do(f"br label %{after}")
        self._resumes[number - 1] = "\n".join(self.text.lines)
        self.text.lines = lines

    def _slot(self, name: str) -> str:
        return self._in_frame(self._first_slot + _SLOT * self._slots.setdefault(name, len(self._slots)))

    # -- Counting

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
        # The hash is FNV-1a, with a number of turns in place of a byte.
        value = "14695981039346656037"
        for header, blocks in sorted(self.flow.loops.items(), key=lambda loop: (-len(loop[1]), loop[0])):
            if self._block in blocks:
                turns = self.text.resized(self.load(_turns(header)), 32, 64)
                mixed = self.text.new(f"xor i64 {value}, {turns}")
                value = self.text.new(f"mul i64 {mixed}, 1099511628211")
        return value


def _turns(header: int) -> str:
    return f"turns of the loop at block {header}"
