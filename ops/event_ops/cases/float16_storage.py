"""Weights of 16 bits in cases: the same inputs, with the weights rounded."""

import jax.numpy as jnp

from event_ops.cases import Arguments
from event_ops.cases.draw import Draw, Make, drawn


@drawn
def stored_as(draw: Draw, half: str, position: int, make: Make) -> Arguments:
    """Return the arguments of `make`, the weights at `position` in float16 or bfloat16.

    Only with inputs of float32, beside which an operator takes such weights.
    """
    args, kwargs = make(*draw)
    if draw.dtype != "float32":
        return args, kwargs
    weights = args[position].astype(jnp.dtype(half))
    return (*args[:position], weights, *args[position + 1 :]), kwargs
