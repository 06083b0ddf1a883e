"""What the kernels that generate a matrix get beside the operator's arguments."""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp

from event_ops.parts.reference.bernoulli import NO_ENTRY, gap_table

# A draw takes about three times as long as a stored entry, so that fewer are worth a parallel launch.
MIN_DRAWS_PARALLEL: Final = 1 << 13


def draws_per_row(prob: float, columns: int) -> int:
    """About how many draws generate a row."""
    return int(columns * prob + columns / NO_ENTRY) + 1


def tables(prob: float, columns: int) -> tuple[jax.Array, jax.Array]:
    """The table of gaps, and (1,) the draws of a row."""
    return jnp.asarray(gap_table(prob)), jnp.full(1, draws_per_row(prob, columns), "int32")


def typed(weight: jax.Array, distribution: str) -> jax.Array:
    """The parameters in a shape whose rank tells the distribution: what `parameters` looks at."""
    return weight.reshape(2, 1) if distribution == "normal" else weight
