"""The functions of kernels/random_numbers.py as Warp compiles them."""

from typing import Any, Final

import warp as wp

from event_ops.kernels.random_numbers import compiled


@wp.func
def float_bits(x: wp.float32) -> wp.int32:
    """Return the bits of a number."""
    return wp.cast(x, wp.int32)


functions = compiled(wp.func, wp, math=wp, float_bits=float_bits)
chosen, philox2x32 = functions.chosen, functions.philox2x32
WEIGHTS: Final[dict[str, Any]] = {
    "constant": functions.constant_weight,
    "uniform": functions.uniform_weight,
    "normal": functions.normal_weight,
}
NUMBERS: Final[dict[str, Any]] = {"normal": functions.normal, "uniform": functions.uniform}
known_poisson, traced_poisson = functions.known_poisson, functions.traced_poisson
