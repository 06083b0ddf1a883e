"""What calls of neuron operators have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import jax

from event_ops.checks.arrays import as_array, check_positive
from event_ops.checks.neuron import check_state, per_neuron
from event_ops.parts.reference.decay import decay_factor, decay_mean, ramp_mean
from event_ops.parts.reference.spiking import Surrogate, check_surrogate, spikes_out
from ffi_bridge import XLACustomKernel


def checked_state(
    states: Mapping[str, Any],
    *,
    positive: Mapping[str, Any],
    t_ref: Any = 0.0,
    surrogate: Surrogate | None,
) -> list[jax.Array]:
    """Return the states as arrays, if V_m, the first, and the others fit and the parameters have a sense."""
    check_surrogate(surrogate)
    arrays = {name: as_array(x) for name, x in states.items()}
    check_state(**arrays)
    for name, x in positive.items():
        check_positive(name, x)
    check_positive("t_ref", t_ref, zero=True)
    return list(arrays.values())


def parameters_of(V_m: jax.Array, **parameters: Any) -> SimpleNamespace:
    """Return the parameters by name, each as `per_neuron` returns it."""
    return SimpleNamespace(**{name: per_neuron(name, x, V_m) for name, x in parameters.items()})


def fading_of(name: str, tau: Any, dt: Any, V_m: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return what of a conductance remains after a step, and what of it acts, on average, in the step."""
    factors = (factor(tau, dt, V_m.dtype) for factor in (decay_factor, decay_mean))
    remains, acts = (per_neuron(f"{name} or dt", x, V_m) for x in factors)
    return remains, acts


def ramp_of(name: str, tau: Any, dt: Any, V_m: jax.Array) -> jax.Array:
    """Return what the slope of an alpha function adds to its mean over a step."""
    return per_neuron(f"{name} or dt", ramp_mean(tau, dt, V_m.dtype), V_m)


def call_step(
    kernel: XLACustomKernel,
    states: list[jax.Array],
    inputs: list[jax.Array],
    *,
    surrogate: Surrogate | None,
    **options: Any,
) -> Any:
    """Return the states and the spikes after a step; inputs are 0-d, or flat as `per_neuron` returns them."""
    V_m = states[0]
    state = jax.ShapeDtypeStruct((V_m.size,), V_m.dtype)
    outs = (*(state for _ in states), spikes_out(V_m, surrogate))
    flat = kernel(*(x.reshape(-1) for x in states), *inputs, outs=outs, surrogate=surrogate, **options)
    return tuple(result.reshape(V_m.shape) for result in flat)
