"""A step of a neuron model in pure JAX: the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.scalar_functions.function import Traced


def build(neuron: Traced, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays, which is that of one neuron for each."""
    return neuron.of_each
