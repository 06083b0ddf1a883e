"""One step of LIF neurons and their currents on a GPU: one thread per neuron, which moves its state once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.membrane import fire
from ffi_bridge import numba_cuda_kernel


# V_m and V are the same memory, and so are refractory and held_for, and I_syn and current.
@cuda.jit
def lif_expsyn_step(
    V_m: Any, refractory: Any, I_syn: Any, decay: Any, decay_syn: Any, gain: Any, V_inf: Any, V_th: Any,
    V_reset: Any, t_ref: Any, dt: Any, jump: Any, V: Any, held_for: Any, current: Any, spikes: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    if i < V.size:
        rest, pushed = at(V_inf, i), current[i]
        free = rest + (V[i] - rest) * at(decay, i) + at(gain, i) * pushed + at(jump, i)
        spikes[i] = fire(V, held_for, free, at(V_th, i), V_reset, t_ref, dt, i)
        current[i] = pushed * at(decay_syn, i)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    aliases = {0: 0, 1: 1, 2: 2}
    step = numba_cuda_kernel(lif_expsyn_step, outs, launch_dims=outs[0].size, input_output_aliases=aliases)

    def call(V_m: Any, refractory: Any, I_syn: Any, *parameters: Any) -> Any:
        return step(V_m, refractory, I_syn, *(x.reshape(-1) for x in parameters))

    return call
