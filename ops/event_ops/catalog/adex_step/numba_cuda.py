"""One step of adaptive exponential neurons on a GPU: one thread per neuron, which moves its state once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from ffi_bridge import numba_cuda_kernel


@cuda.jit(device=True)
def current(
    V: Any, w: Any, g_ex: Any, g_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, Delta_T: Any, V_th: Any
) -> Any:
    """Return the sum of all currents into a neuron."""
    upstroke = g_L * Delta_T * math.exp((V - V_th) / Delta_T)
    return leak - g_L * V + upstroke - w + g_ex * (E_ex - V) + g_in * (E_in - V)


@cache
def kernel(substeps: int, counted: bool) -> Any:
    """Return the kernel with so many substeps, which counts spikes or says whether there is one."""
    most = substeps if counted else 1

    # Each state is the same memory as its output.
    @cuda.jit
    def adex_step(
        V_m: Any, refractory: Any, g_ex: Any, g_in: Any, w: Any, decay_ex: Any, decay_in: Any, rate: Any,
        rate_w: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, Delta_T: Any, V_th: Any, a: Any, E_L: Any,
        b: Any, V_peak: Any, V_reset: Any, t_ref: Any, dt: Any,
        V: Any, held_for: Any, ex: Any, into: Any, adaptation: Any, spikes: Any,
    ) -> None:  # fmt: skip
        i = cuda.grid(1)
        if i >= V.size:
            return
        zero, half = V.dtype.type(0), V.dtype.type(0.5)
        step, peak, left = at(dt, i), at(V_peak, i), held_for[i]
        new, adapted, excited, inhibited = V[i], adaptation[i], ex[i], into[i]
        leaky, rest, to_ex, to_in = at(g_L, i), at(leak, i), at(E_ex, i), at(E_in, i)
        steepness, threshold, speed, speed_w = at(Delta_T, i), at(V_th, i), at(rate, i), at(rate_w, i)
        pull, around = at(a, i), at(E_L, i)
        held, number = left > half * step, 0
        remaining = max(left - step, zero) if held else zero
        for _ in range(substeps):
            bounded = peak if new > peak else new
            dV = speed * current(
                bounded, adapted, excited, inhibited, leaky, rest, to_ex, to_in, steepness, threshold
            )
            dw = speed_w * (pull * (bounded - around) - adapted)
            excited, inhibited = excited * at(decay_ex, i), inhibited * at(decay_in, i)
            end, end_w = new if held else new + dV, adapted + dw
            end = peak if end > peak else end
            dV += speed * current(
                end, end_w, excited, inhibited, leaky, rest, to_ex, to_in, steepness, threshold
            )
            dw += speed_w * (pull * (end - around) - end_w)
            new, adapted = new if held else new + half * dV, adapted + half * dw
            if new > peak and not held:
                new, adapted, number = at(V_reset, i), adapted + at(b, i), number + 1
                held = at(t_ref, i) > half * step
        V[i], adaptation[i], ex[i], into[i] = new, adapted, excited, inhibited
        held_for[i] = at(t_ref, i) if number else remaining
        spikes[i] = min(number, most)

    return adex_step


def build(*, outs: Any, substeps: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    size, aliases = outs[0].size, {i: i for i in range(5)}
    step = numba_cuda_kernel(
        kernel(substeps, outs[5].dtype.kind == "i"), outs, launch_dims=size, input_output_aliases=aliases
    )

    def call(*arrays: Any) -> Any:
        return step(*arrays[:5], *(x.reshape(-1) for x in arrays[5:]))

    return call
