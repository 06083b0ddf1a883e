"""One step of LIF neurons and their conductances on a GPU: one thread per neuron moves its state once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.membrane import fire, relax
from ffi_bridge import numba_cuda_kernel


# Each state is the same memory as its output.
@cuda.jit
def lif_cond_alpha_step(
    V_m: Any, refractory: Any, g_ex: Any, g_in: Any, dg_ex: Any, dg_in: Any, decay_ex: Any, decay_in: Any,
    mean_ex: Any, mean_in: Any, rise_ex: Any, rise_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any,
    rate: Any, V_th: Any, V_reset: Any, t_ref: Any, dt: Any,
    V: Any, held_for: Any, ex: Any, into: Any, d_ex: Any, d_in: Any, spikes: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    if i < V.size:
        excited, inhibited, slope_ex, slope_in = ex[i], into[i], d_ex[i], d_in[i]
        free = relax(
            V[i], excited * at(mean_ex, i) + slope_ex * at(rise_ex, i),
            inhibited * at(mean_in, i) + slope_in * at(rise_in, i),
            at(g_L, i), at(leak, i), at(E_ex, i), at(E_in, i), at(rate, i),
        )  # fmt: skip
        spikes[i] = fire(V, held_for, free, at(V_th, i), V_reset, t_ref, dt, i)
        ex[i] = (excited + at(dt, i) * slope_ex) * at(decay_ex, i)
        into[i] = (inhibited + at(dt, i) * slope_in) * at(decay_in, i)
        d_ex[i], d_in[i] = slope_ex * at(decay_ex, i), slope_in * at(decay_in, i)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    size, aliases = outs[0].size, {i: i for i in range(6)}
    step = numba_cuda_kernel(lif_cond_alpha_step, outs, launch_dims=size, input_output_aliases=aliases)

    def call(*arrays: Any) -> Any:
        return step(*arrays[:6], *(x.reshape(-1) for x in arrays[6:]))

    return call
