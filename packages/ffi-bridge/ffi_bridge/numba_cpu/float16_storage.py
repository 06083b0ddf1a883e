"""Floats of 16 bits in kernels for the CPU: stored as they are, and read by `np.float32(x[i])`.

Numba has no type for bfloat16, and float16 for GPUs alone. Here both are types whose values do one thing:
become float32. Arithmetic with them, or a store, is an error of types when the kernel is compiled.
"""

from typing import Any, Final

import ml_dtypes
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_cast, models, register_model

_I32: Final = ir.IntType(32)
_F32: Final = ir.FloatType()


class Half(types.Number):
    """A float of 16 bits, of one of the dtypes in `HALVES`."""

    def __init__(self, dtype: Any) -> None:
        self.of = np.dtype(dtype)
        super().__init__(name=str(self.of))


@register_model(Half)
class HalfModel(models.PrimitiveModel):
    """Its bits."""

    def __init__(self, manager: Any, half: Any) -> None:
        super().__init__(manager, half, ir.IntType(16))


HALVES: Final[dict[np.dtype[Any], Half]] = {
    dtype: Half(dtype) for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
}


@lower_cast(Half, types.float32)
def _to_float32(context: Any, builder: Any, half: Half, to: Any, value: Any) -> Any:
    if half.of == np.float16 and _converts_float16(*context.codegen().magic_tuple()):
        return builder.fpext(builder.bitcast(value, ir.HalfType()), _F32)
    bits = builder.zext(value, _I32)
    if half.of == np.float16:
        return _float16_of(builder, bits)
    return builder.bitcast(builder.shl(bits, _I32(16)), _F32)


def _converts_float16(triple: str, processor: str, features: str) -> bool:
    """Return whether a processor has an instruction for float16; LLVM calls a function otherwise.

    That function may be missing, which ends the process.
    """
    return "+f16c" in features or triple.startswith(("aarch64", "arm64"))


def _float16_of(builder: Any, bits: Any) -> Any:
    """Emit the float32 of the bits of a float16 by integer arithmetic, which takes twice as long."""
    exponent, fraction = builder.and_(bits, _I32(0x7C00)), builder.and_(bits, _I32(0x03FF))
    magnitude = builder.shl(builder.and_(bits, _I32(0x7FFF)), _I32(13))
    # Exponents are counted from 15 in one format, and from 127 in the other; the largest is that of NaN.
    is_finite = builder.icmp_unsigned("!=", exponent, _I32(0x7C00))
    more = builder.select(is_finite, _I32((127 - 15) << 23), _I32((255 - 31) << 23))
    # Numbers without an exponent are computed: moved as bits, some processors would take them for 0.
    tiny = builder.bitcast(builder.fmul(builder.uitofp(fraction, _F32), _F32(2.0**-24)), _I32)
    is_tiny = builder.icmp_unsigned("==", exponent, _I32(0))
    unsigned = builder.select(is_tiny, tiny, builder.add(magnitude, more))
    sign = builder.shl(builder.and_(bits, _I32(0x8000)), _I32(16))
    return builder.bitcast(builder.or_(unsigned, sign), _F32)
