"""The operator `spike_detect_reset`: its checks, and its definition, the step of one neuron."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.checks.neuron import each_per_neuron
from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state
from event_ops.kernels.reference.spiking import Surrogate, crossings


def spike_detect_reset(
    V_m: ArrayLike,
    *,
    V_th: ArrayLike,
    V_reset: ArrayLike,
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array]:
    """`spikes = V > V_th`, and V is set to V_reset where it spiked: the end of a step of any neuron model.

    A neuron at the threshold does not spike, nor does one whose V is not a number, as in `lif_step`.
    Differentiable in the float arguments; V_m has no derivative through the reset (it is detached). Spikes
    have none either, unless there is a surrogate: then they are floats whose derivative is
    surrogate(V - V_th) * d(V - V_th), with V before the reset and V - V_th in mV, not normalised.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        V_th: threshold in mV; a number, 0-d, or shape of V_m, as is V_reset.
        V_reset: potential after a spike in mV.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken; a surrogate that is not a function.
        ValueError: a shape that does not fit.
    """
    states = checked_state({"V_m": V_m}, surrogate=surrogate)
    variables = each_per_neuron(states[0], V_th=V_th, V_reset=V_reset)
    return call_step(kernel, of_neuron, states, variables, surrogate=surrogate, backend=backend)


def of_neuron(V_m: Any, *, V_th: Any, V_reset: Any, surrogate: Surrogate | None) -> tuple[Any, Any]:
    """Compare V with the threshold, and reset it where it spikes."""
    spike = crossings(V_m, V_th, surrogate)
    return jnp.where(spike.astype(bool), V_reset, V_m), spike


kernel = define_kernel("spike_detect_reset", "event_ops.neurons", "neuron", "elementwise")
kernel.def_numba_cuda_kernel("event_ops.catalog.spike_detect_reset.numba_cuda:build")
