"""Reading parameters that are one for all, or one for each."""

from typing import Any

import warp as wp


@wp.func
def at(x: wp.array(dtype=Any), i: wp.int32) -> Any:
    """Element i; an array of one element holds it for all."""
    return x[wp.min(i, x.shape[0] - 1)]
