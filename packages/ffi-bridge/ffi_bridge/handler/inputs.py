"""Copies of inputs, which no kernel may change: to compare in the debug mode, or for a kernel that writes.

JAX's arrays never change, and one may be the constant of a program, or lie in the memory of a NumPy array.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from llvmlite import ir

from ffi_bridge.handler.c_code import call_c, variable
from ffi_bridge.handler.frame import I32, I64, NULL, POINTER, Frame

_ONE: Final = ir.Constant(I64, 1)


class InputCopies:
    """The copies of inputs of one handler, that of `frame`, which are freed when it is left."""

    def __init__(self, frame: Frame, kernel: str) -> None:
        self._frame, self._kernel = frame, kernel
        self._blocks: list[Any] = []
        self._kept: list[tuple[str, Any, Any, Any]] = []
        outer = frame.leave

        def leave() -> None:
            for block in self._blocks:
                call_c(frame.builder, "free", ir.VoidType(), [frame.builder.load(block)])
            outer()

        frame.leave = leave

    def room(self, name: str, size: Any) -> Any:
        """Emit memory for `size` bytes of an input; return its address."""
        builder = self._frame.builder
        block = variable(builder, NULL, "copy")
        made = call_c(builder, "malloc", POINTER, [builder.add(size, _ONE)])  # of no bytes there may be none
        with builder.if_then(builder.icmp_unsigned("==", made, NULL), likely=False):
            self._frame.fail(f"no memory to copy input '{name}' of kernel '{self._kernel}'")
        builder.store(made, block)
        self._blocks.append(block)
        return made

    def keep(self, inputs: Iterable[tuple[str, Any, Any]]) -> None:
        """Emit copies of inputs as they are now, for `check`; of each its name, its address and its bytes."""
        for name, place, size in inputs:
            copy = self.room(name, size)
            call_c(self._frame.builder, "memcpy", POINTER, [copy, place, size])
            self._kept.append((name, place, copy, size))

    def check(self) -> None:
        """Emit: return an error unless every input that was kept is as it was, down to its bits."""
        builder = self._frame.builder
        for name, place, copy, size in self._kept:
            found = call_c(builder, "memcmp", I32, [place, copy, size])
            with builder.if_then(builder.icmp_unsigned("!=", found, ir.Constant(I32, 0)), likely=False):
                # What else reads the array is to find it as it was.
                call_c(builder, "memcpy", POINTER, [place, copy, size])
                self._frame.fail(
                    f"kernel '{self._kernel}' wrote into its input '{name}'; JAX's arrays never change: "
                    "let the kernel write into a copy"
                )
