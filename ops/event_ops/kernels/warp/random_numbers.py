"""The functions of kernels/random_numbers.py as Warp compiles them."""

import warp as wp

from event_ops.kernels.random_numbers import compiled


@wp.func
def float_bits(x: wp.float32) -> wp.int32:
    """Return the bits of a number."""
    return wp.cast(x, wp.int32)


random_functions = compiled(wp.func, wp, math=wp, float_bits=float_bits)
chosen, philox2x32 = random_functions.chosen, random_functions.philox2x32
