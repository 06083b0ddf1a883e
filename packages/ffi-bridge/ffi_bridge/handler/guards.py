"""The memory around a kernel: huge pages, canaries in the debug mode, copies of inputs.

XLA hands out fresh memory, and the first write to each of its pages is a page fault: for an output of many
megabytes that is most of the time. With huge pages there are 512 times fewer. Between canaries, a kernel
writes into memory of ours, which is checked and copied to XLA's. No kernel may change an input: JAX's arrays
never change, and one may be the constant of a program, or lie in the memory of a NumPy array.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from mmap import PAGESIZE
from typing import Any, Final

from llvmlite import ir

from ffi_bridge.handler.c_code import call_c, count_to, variable
from ffi_bridge.handler.frame import I8, I32, I64, NULL, POINTER, Frame

MIN_BYTES: Final = 4 << 20  # two huge pages on x86: from here the advice costs far less than it saves
MADV_HUGEPAGE: Final = 14  # <linux/mman.h>

GUARD: Final = 64  # bytes of canaries on either side, and the alignment of XLA's buffers
CANARY: Final = 0xA5  # in every byte: unlike 0 and POISON, which would pass where kernels write them
POISON: Final = 0xFF  # in every byte: NaN as a float, -1 as an integer


def prefer_huge_pages(builder: Any, data: Any, size: Any) -> None:
    """Emit the advice for `size` bytes at `data`; advice that the system cannot take is ignored."""
    if sys.platform != "linux":
        return
    is_large = builder.icmp_unsigned(">=", size, ir.Constant(I64, MIN_BYTES))
    with builder.if_then(is_large, likely=False):
        address = builder.ptrtoint(data, I64)
        # `madvise` refuses an address that does not begin a page.
        offset = builder.and_(address, ir.Constant(I64, PAGESIZE - 1))
        page = builder.inttoptr(builder.sub(address, offset), POINTER)
        advice = ir.Constant(I32, MADV_HUGEPAGE)
        call_c(builder, "madvise", I32, [page, builder.add(size, offset), advice])


class _Guards:
    """Memory that one handler, that of `frame`, has for a kernel; it is freed when the handler is left."""

    def __init__(self, frame: Frame, kernel: str) -> None:
        self._frame, self._kernel = frame, kernel
        self._blocks: list[Any] = []  # addresses of the addresses of our memory
        # Canaries and copies may guard one handler: each leaves through the one before.
        outer = frame.leave

        def leave() -> None:
            for block in self._blocks:
                # Of memory that was not reached the address is NULL, of which `free` does nothing.
                call_c(frame.builder, "free", ir.VoidType(), [frame.builder.load(block)])
            outer()

        frame.leave = leave

    def _allocated(self, function: str, arguments: Sequence[Any], why: str) -> tuple[Any, Any]:
        """Emit a call of a C function for memory; return its address, and where that is on the stack."""
        builder = self._frame.builder
        block = variable(builder, NULL, "block")
        made = call_c(builder, function, POINTER, arguments)
        with builder.if_then(builder.icmp_unsigned("==", made, NULL), likely=False):
            self._frame.fail(f"no memory to {why} of kernel '{self._kernel}'")
        builder.store(made, block)
        self._blocks.append(block)
        return made, block


@dataclass(frozen=True)
class _Output:
    name: str
    data: Any  # XLA's memory
    size: Any  # bytes
    block: Any  # address of the address of our memory: canaries, the output, canaries


class Canaries(_Guards):
    """The guarded outputs of a handler."""

    def __init__(self, frame: Frame, kernel: str) -> None:
        super().__init__(frame, kernel)
        self._outputs: list[_Output] = []

    def around_outputs(
        self, names: Sequence[str], data: Sequence[Any], sizes: Sequence[Any], num_inputs: int
    ) -> list[Any]:
        """Put canaries around the outputs among the buffers at `data`; return where the kernel finds each."""
        pointers = list(data[:num_inputs])
        for name, place, size in list(zip(names, data, sizes, strict=True))[num_inputs:]:
            pointers = self._around(name, place, size, pointers, num_inputs)
        return pointers

    def _around(self, name: str, data: Any, size: Any, pointers: Sequence[Any], num_inputs: int) -> list[Any]:
        """Return `pointers` and guarded memory in place of `data`; an input at `data` moves there, too."""
        builder = self._frame.builder
        total = self._total(size)
        # C asks for a size that is a multiple of the alignment.
        aligned = [ir.Constant(I64, GUARD), total]
        made, block = self._allocated("aligned_alloc", aligned, f"guard output '{name}'")
        inside = builder.gep(made, [ir.Constant(I64, GUARD)])
        _fill(builder, made, CANARY, total)
        _fill(builder, inside, POISON, size)
        # An empty array may have the address of another one.
        is_some = builder.icmp_unsigned("!=", size, ir.Constant(I64, 0))
        moved = list(pointers)
        for i, pointer in enumerate(pointers[:num_inputs]):
            # Known at run time alone: XLA may give an alias one memory, or a copy.
            shared = builder.and_(is_some, builder.icmp_unsigned("==", data, pointer))
            with builder.if_then(shared):
                call_c(builder, "memcpy", POINTER, [inside, data, size])
            moved[i] = builder.select(shared, inside, pointer)
        self._outputs.append(_Output(name, data, size, block))
        return [*moved, inside]

    def check(self) -> None:
        """Emit: return an error unless every canary is as it was, else copy the outputs to XLA's memory."""
        builder = self._frame.builder
        for output in self._outputs:
            block, guard = builder.load(output.block), ir.Constant(I64, GUARD)
            inside = builder.gep(block, [guard])
            behind = builder.gep(inside, [output.size])
            after = builder.sub(self._total(output.size), builder.add(output.size, guard))
            for side, start, count in (("before", block, guard), ("behind", behind, after)):
                with builder.if_then(_changed(builder, start, count), likely=False):
                    self._frame.fail(f"kernel '{self._kernel}' wrote {side} its output '{output.name}'")
            call_c(builder, "memcpy", POINTER, [output.data, inside, output.size])

    def _total(self, size: Any) -> Any:
        """Return the bytes of a block: whole multiples of the guard, at least one on either side."""
        builder, guard = self._frame.builder, ir.Constant(I64, GUARD)
        guards = builder.udiv(builder.add(size, ir.Constant(I64, 3 * GUARD - 1)), guard)
        return builder.mul(guards, guard)


def _changed(builder: Any, start: Any, count: Any) -> Any:
    """Return whether any of `count` bytes is no canary."""
    differences = variable(builder, ir.Constant(I8, 0), "differences")
    with count_to(builder, count) as i:
        byte = builder.load(builder.gep(start, [i]))
        differs = builder.xor(byte, ir.Constant(I8, CANARY))
        builder.store(builder.or_(builder.load(differences), differs), differences)
    return builder.icmp_unsigned("!=", builder.load(differences), ir.Constant(I8, 0))


def _fill(builder: Any, start: Any, byte: int, count: Any) -> None:
    call_c(builder, "memset", POINTER, [start, ir.Constant(I32, byte), count])


_ONE: Final = ir.Constant(I64, 1)


class InputCopies(_Guards):
    """The copies of inputs of a handler."""

    def __init__(self, frame: Frame, kernel: str) -> None:
        super().__init__(frame, kernel)
        self._copies: list[tuple[str, Any, Any, Any]] = []

    def room(self, name: str, size: Any) -> Any:
        """Emit memory for `size` bytes of an input; return its address."""
        some = self._frame.builder.add(size, _ONE)  # of no bytes there may be none
        return self._allocated("malloc", [some], f"copy input '{name}'")[0]

    def keep(self, inputs: Iterable[tuple[str, Any, Any]]) -> None:
        """Emit copies of inputs as they are now, for `check`; of each its name, its address and its bytes."""
        for name, place, size in inputs:
            copy = self.room(name, size)
            call_c(self._frame.builder, "memcpy", POINTER, [copy, place, size])
            self._copies.append((name, place, copy, size))

    def check(self) -> None:
        """Emit: return an error unless every input that was kept is as it was, down to its bits."""
        builder = self._frame.builder
        for name, place, copy, size in self._copies:
            comparison = call_c(builder, "memcmp", I32, [place, copy, size])
            with builder.if_then(builder.icmp_unsigned("!=", comparison, ir.Constant(I32, 0)), likely=False):
                # What else reads the array is to find it as it was.
                call_c(builder, "memcpy", POINTER, [place, copy, size])
                self._frame.fail(
                    f"kernel '{self._kernel}' wrote into its input '{name}'; JAX's arrays never change: "
                    "let the kernel write into a copy"
                )
