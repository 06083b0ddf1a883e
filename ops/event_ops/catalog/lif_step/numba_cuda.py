"""One step of LIF neurons on a GPU: one thread per neuron, which reads and writes its state once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.membrane import step_membrane
from ffi_bridge import numba_cuda_kernel


# V_m and V are the same memory, and so are refractory and held_for.
@cuda.jit
def lif_step(
    V_m: Any, refractory: Any, I_syn: Any, decay: Any, E_L: Any, V_th: Any, V_reset: Any, t_ref: Any, dt: Any,
    jump: Any, V: Any, held_for: Any, spikes: Any,
) -> None:  # fmt: skip
    i = cuda.grid(1)
    if i < V.size:
        threshold = at(V_th, i)
        spikes[i] = step_membrane(V, held_for, I_syn, decay, E_L, threshold, V_reset, t_ref, dt, jump, i)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    step = numba_cuda_kernel(lif_step, outs, launch_dims=outs[0].size, input_output_aliases={0: 0, 1: 1})

    def call(V_m: Any, refractory: Any, *parameters: Any) -> Any:
        return step(V_m, refractory, *(x.reshape(-1) for x in parameters))

    return call
