"""A choice between two values without a branch, for loops that are to vectorise."""

from __future__ import annotations

from typing import Any

from numba import types

from event_ops.kernels.numba_cpu.jit import instruction


@instruction(lambda condition, x, y: x if condition else y)
def select(context: Any, condition: Any, x: Any, y: Any) -> Any:
    """Return x if the condition holds, else y, a value of the same type; both are computed.

    Of an `if`, LLVM makes paths through the loop, and of these masked stores, which take much longer.
    """
    kind = types.unliteral(x)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return kind(types.boolean, kind, kind), emit
