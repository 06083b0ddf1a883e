"""`spike_detect_reset` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.spiking import Surrogate, crossings


def spike_detect_reset(
    V_m: jax.Array, V_th: jax.Array, V_reset: jax.Array, *, surrogate: Surrogate | None
) -> tuple[jax.Array, jax.Array]:
    """Compare V_m with the threshold, then reset where it spikes."""
    spikes = crossings(V_m, V_th, surrogate)
    return jnp.where(spikes.astype(bool), V_reset, V_m), spikes


def build(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `spike_detect_reset` for one surrogate."""
    return functools.partial(spike_detect_reset, surrogate=surrogate)
