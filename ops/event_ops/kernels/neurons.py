"""Check and prepare the states and parameters of neuron operators."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import check_positive
from event_ops.checks.inputs import as_input, computed
from event_ops.checks.neuron import check_state, each_per_neuron, per_neuron
from event_ops.kernels.reference.decay import decay_and_means
from event_ops.kernels.reference.spiking import Surrogate, check_surrogate


def checked_state(
    states: Mapping[str, Any],
    *,
    positive: Mapping[str, Any] = {},
    t_ref: Any = 0.0,
    surrogate: Surrogate | None,
) -> list[jax.Array]:
    """Return the states as arrays; raise unless they fit V_m, the first, and parameters have a sense."""
    check_surrogate(surrogate)
    arrays = {name: as_input(x) for name, x in states.items()}
    check_state(**arrays)
    for name, x in positive.items():
        check_positive(name, x)
    check_positive("t_ref", t_ref, zero=True)
    return list(arrays.values())


def fading_of(name: str, tau: Any, dt: Any, V_m: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return a conductance's factors: its decay over a step, its mean, and the mean of an alpha slope."""
    values = decay_and_means(tau, dt, V_m.dtype)
    remains, acts, ramp = (per_neuron(f"{name} or dt", x, V_m) for x in values)
    return remains, acts, ramp


def membrane_variables(
    V_m: jax.Array, *, g_L: Any, E_L: Any, I_e: Any, C_m: Any, dt: Any, substeps: int = 1, **parameters: Any
) -> dict[str, jax.Array]:
    """Return the variables of a membrane that conductances move, each as `per_neuron` returns it.

    leak is g_L * E_L + I_e, the current that does not depend on V; rate is dt / C_m in each of `substeps`.
    """
    p = each_per_neuron(V_m, g_L=g_L, E_L=E_L, I_e=I_e, C_m=C_m, dt=dt, **parameters)
    p["leak"] = computed(_leak, p["g_L"], p.pop("E_L"), p.pop("I_e"))
    p["rate"] = rate_of(p["dt"], p.pop("C_m"), substeps)
    return p


def rate_of(dt: jax.Array, slowness: jax.Array, substeps: int) -> jax.Array:
    """Return dt / (slowness * substeps)."""
    return computed(_rate, dt, slowness, np.array(substeps, dt.dtype))


def _leak(g_L: Any, E_L: Any, I_e: Any) -> Any:
    return g_L * E_L + I_e


def _rate(dt: Any, slowness: Any, substeps: Any) -> Any:
    return dt / (slowness * substeps)
