"""The functions by which compiled terms spell arithmetic, so that loops vectorise: no call, no branch."""

from typing import Any, Final

import numpy as np
from numba import types

from event_ops.kernels.numba_cpu.exponential import exp, expm1, tanh
from event_ops.kernels.numba_cpu.jit import CONTRACT, by_type, dtype_of, instruction


@by_type(interpreted=np.true_divide, forceinline=True, fastmath=CONTRACT, error_model="numpy")
def over(x: Any, c: Any) -> Any:
    """Return x / c, within two units in the last place, for floats of one type.

    All but two products depends on c alone, so that LLVM moves it out of a loop. 1 / c is below the normal
    numbers, which are flushed to 0, for the largest c: then x and c are divided by 4 first.
    """
    real = dtype_of(x).type
    one, quarter, large = real(1), real(0.25), real(0.25) / np.finfo(real).tiny

    def multiplied(x: Any, c: Any) -> Any:
        part = quarter if abs(c) > large else one
        return (x * part) * (one / (c * part))

    return multiplied


@instruction(lambda condition, x, y: x if condition else y)
def select(context: Any, condition: Any, x: Any, y: Any) -> Any:
    """Return x if the condition holds, else y, a value of the same type; both are computed.

    Of an `if`, LLVM makes paths through the loop, and of these masked stores, which take much longer.
    """
    kind = types.unliteral(x)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return kind(types.boolean, kind, kind), emit


# By the names in emitted code: without Numba's JIT an instruction is a function of another name.
FUNCTIONS: Final[dict[str, Any]] = {"exp": exp, "expm1": expm1, "over": over, "select": select, "tanh": tanh}
