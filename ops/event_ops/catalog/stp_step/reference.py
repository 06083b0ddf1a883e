"""`stp_step` of one synapse in JAX: its definition."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def of_synapse(x: Any, u: Any, *, spikes: Any, U: Any, recovery: Any, fading: Any) -> tuple[Any, Any, Any]:
    """Return x and u after a step, and what is released; recovery and fading are exp(-dt / tau)."""
    u = u * fading
    u = u + _at_spike(spikes, U * (1 - u))
    x = 1 + (x - 1) * recovery
    released = _at_spike(spikes, u * x)
    return x - released, u, released


def _at_spike(spike: Any, value: Any) -> Any:
    """Return spike * value, and 0 where a flag is False, whatever the value is."""
    return jnp.where(spike, value, 0) if spike.dtype == bool else spike * value
