"""One step of Hodgkin-Huxley neurons on a GPU: one thread per neuron, which moves its state once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.membrane import relax
from ffi_bridge import numba_cuda_kernel


@cuda.jit(device=True)
def linoid(x: Any) -> Any:
    """Return x / (exp(x) - 1), near 0 by its series."""
    real, y = type(x), x * x
    series = real(1 / 30240) - y * (real(1 / 1209600) - y * real(1 / 47900160))
    series = real(1) - x * real(0.5) + y * (real(1 / 12) - y * (real(1 / 720) - y * series))
    return series if abs(x) < real(0.3) else x / (math.exp(x) - real(1))


@cuda.jit(device=True)
def toward(x: Any, alpha: Any, beta: Any, time: Any) -> Any:
    """Return a gate after so much time with constant rates."""
    end = alpha / (alpha + beta)
    return end + (x - end) * math.exp(-(alpha + beta) * time)


@cuda.jit(device=True)
def gates(v: Any, m: Any, h: Any, n: Any, time: Any) -> Any:
    """Return m, h and n after so much time at one potential."""
    real = type(v)
    alpha_m = real(1.28) * linoid((real(13) - v) * real(1 / 4))
    beta_m = real(1.4) * linoid((v - real(40)) * real(1 / 5))
    alpha_h = real(0.128) * math.exp((real(17) - v) * real(1 / 18))
    beta_h = real(4) / (real(1) + math.exp((real(40) - v) * real(1 / 5)))
    alpha_n = real(0.16) * linoid((real(15) - v) * real(1 / 5))
    beta_n = real(0.5) * math.exp((real(10) - v) * real(1 / 40))
    return (
        toward(m, alpha_m, beta_m, time),
        toward(h, alpha_h, beta_h, time),
        toward(n, alpha_n, beta_n, time),
    )


@cache
def kernel(substeps: int) -> Any:
    """Return the kernel with so many substeps."""

    # Each state is the same memory as its output.
    @cuda.jit
    def hh_cond_exp_step(
        V_m: Any, refractory: Any, g_ex: Any, g_in: Any, Act_m: Any, Inact_h: Any, Act_n: Any, decay_ex: Any,
        decay_in: Any, mean_ex: Any, mean_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, rate: Any,
        g_Na: Any, E_Na: Any, g_K: Any, E_K: Any, V_T: Any, half: Any, t_ref: Any, dt: Any,
        V: Any, held_for: Any, ex: Any, into: Any, ms: Any, hs: Any, ns: Any, spikes: Any,
    ) -> None:  # fmt: skip
        i = cuda.grid(1)
        if i >= V.size:
            return
        old, excited, inhibited, m, h, n = V[i], ex[i], into[i], ms[i], hs[i], ns[i]
        origin, time, new = at(V_T, i), at(half, i), old
        for _ in range(substeps):
            m, h, n = gates(new - origin, m, h, n, time)
            sodium, potassium = at(g_Na, i) * m * m * m * h, at(g_K, i) * n * n * n * n
            new = relax(
                new, excited * at(mean_ex, i), inhibited * at(mean_in, i), at(g_L, i) + sodium + potassium,
                at(leak, i) + sodium * at(E_Na, i) + potassium * at(E_K, i),
                at(E_ex, i), at(E_in, i), at(rate, i),
            )  # fmt: skip
            excited, inhibited = excited * at(decay_ex, i), inhibited * at(decay_in, i)
            m, h, n = gates(new - origin, m, h, n, time)
        V[i], ex[i], into[i], ms[i], hs[i], ns[i] = new, excited, inhibited, m, h, n
        left, step, zero = held_for[i], at(dt, i), V.dtype.type(0)
        held = left > V.dtype.type(0.5) * step
        spike = new > origin + V.dtype.type(30) and new < old and not held
        remaining = max(left - step, zero) if held else zero
        held_for[i] = at(t_ref, i) if spike else remaining
        spikes[i] = spike

    return hh_cond_exp_step


def build(*, outs: Any, substeps: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    size, aliases = outs[0].size, {i: i for i in range(7)}
    step = numba_cuda_kernel(kernel(substeps), outs, launch_dims=size, input_output_aliases=aliases)

    def call(*arrays: Any) -> Any:
        return step(*arrays[:7], *(x.reshape(-1) for x in arrays[7:]))

    return call
