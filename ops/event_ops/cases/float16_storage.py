"""Weights of 16 bits in cases: the same inputs, with the weights rounded."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from event_ops.cases import Arguments
from event_ops.cases.draw import Make


def stored_as(half: str, position: int, make: Make) -> Make:
    """Return `make` with argument `position`, the weights, in float16 or bfloat16.

    Only with inputs of float32, beside which an operator takes such weights.
    """

    def rounded(rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
        args, kwargs = make(rng, dtype, index_dtype)
        if dtype != "float32":
            return args, kwargs
        with_weights: list[Any] = list(args)
        with_weights[position] = args[position].astype(jnp.dtype(half))
        return tuple(with_weights), kwargs

    return rounded
