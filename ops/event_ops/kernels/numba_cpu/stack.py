"""Arrays in the memory of a call, of which LLVM knows that no array overlaps them.

A loop that adds to an array which is an output vectorises behind comparisons of its address with all that it
reads, at every turn of the loop around it; one that adds to such an array needs none.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.kernels.numba_cpu.jit import instruction


@instruction(lambda like, size: np.empty(size, like.dtype))
def on_stack(context: Any, like: Any, size: Any) -> Any:
    """Return `size` elements, a literal, of the dtype of `like`; they end with the function that asks."""
    kind = types.Array(like.dtype, 1, "C")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element, count = context.get_data_type(like.dtype), size.literal_value
        with builder.goto_entry_block():
            data = builder.alloca(element, ir.IntType(64)(count))
        # A cache line, and the widest SIMD value.
        data.align = 64
        width = context.get_abi_sizeof(element)
        array = context.make_array(kind)(context, builder)
        intp = context.get_constant
        array.data, array.itemsize = data, intp(types.intp, width)
        array.nitems = intp(types.intp, count)
        shape = builder.insert_value(ir.Constant(array.shape.type, ir.Undefined), intp(types.intp, count), 0)
        strides = builder.insert_value(
            ir.Constant(array.strides.type, ir.Undefined), intp(types.intp, width), 0
        )
        array.shape, array.strides = shape, strides
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()

    return kind(like, size), emit
