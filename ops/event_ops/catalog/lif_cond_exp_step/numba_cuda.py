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
def lif_cond_exp_step(
    V_m: Any, refractory: Any, g_ex: Any, g_in: Any, decay_ex: Any, decay_in: Any, mean_ex: Any,
    mean_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, rate: Any, V_th: Any, V_reset: Any,
    t_ref: Any, dt: Any, V: Any, held_for: Any, ex: Any, into: Any, spikes: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    if i < V.size:
        excited, inhibited = ex[i], into[i]
        free = relax(
            V[i], excited * at(mean_ex, i), inhibited * at(mean_in, i),
            at(g_L, i), at(leak, i), at(E_ex, i), at(E_in, i), at(rate, i),
        )  # fmt: skip
        spikes[i] = fire(V, held_for, free, at(V_th, i), V_reset, t_ref, dt, i)
        ex[i], into[i] = excited * at(decay_ex, i), inhibited * at(decay_in, i)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    aliases = {0: 0, 1: 1, 2: 2, 3: 3}
    step = numba_cuda_kernel(lif_cond_exp_step, outs, launch_dims=outs[0].size, input_output_aliases=aliases)

    def call(V_m: Any, refractory: Any, g_ex: Any, g_in: Any, *parameters: Any) -> Any:
        return step(V_m, refractory, g_ex, g_in, *(x.reshape(-1) for x in parameters))

    return call
