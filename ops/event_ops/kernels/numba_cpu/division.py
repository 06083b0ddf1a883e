"""x / c by a multiplication, for loops in which c stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from event_ops.kernels.numba_cpu.jit import CONTRACT
from ffi_bridge.numba_cpu import as_dtype


def over(x: Any, c: Any) -> Any:
    """Return x / c, within two units in the last place, for floats of one type.

    All but two products depends on c alone, so that LLVM moves it out of a loop. 1 / c is below the normal
    numbers, which are flushed to 0, for the largest c: then x and c are divided by 4 first.
    """
    return np.true_divide(x, c)


@overload(over, strict=False, jit_options={"forceinline": True, "fastmath": CONTRACT, "error_model": "numpy"})
def _over(x: Any, c: Any) -> Any:
    real = as_dtype(x).type
    one, quarter, large = real(1), real(0.25), real(0.25) / np.finfo(real).tiny

    def multiplied(x: Any, c: Any) -> Any:
        part = quarter if abs(c) > large else one
        return (x * part) * (one / (c * part))

    return multiplied
