"""The operator `spike_detect_reset`: checks, backends; its derivatives are those of the reference."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_backends
from event_ops.checks.inputs import as_input
from event_ops.checks.neuron import check_state, per_neuron
from event_ops.kernels.neurons import call_step
from event_ops.kernels.reference.spiking import Surrogate, check_surrogate
from ffi_bridge import XLACustomKernel


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
    check_surrogate(surrogate)
    V_m = as_input(V_m)
    check_state(V_m)
    parameters = [per_neuron(name, x, V_m) for name, x in (("V_th", V_th), ("V_reset", V_reset))]
    return call_step(kernel, (V_m,), parameters, surrogate=surrogate, backend=backend)


kernel = XLACustomKernel("spike_detect_reset")
kernel.def_tags("neuron", "elementwise")
define_backends(kernel, "reference", "numba_cpu", "numba_cuda", "warp")
