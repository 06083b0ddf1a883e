"""One step of Izhikevich neurons on a GPU: one thread per neuron, which reads and writes its state once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from ffi_bridge import numba_cuda_kernel


@cuda.jit(device=True)
def slope(V: Any, U: Any, I_syn: Any) -> Any:
    """Return dV/dt."""
    real = type(V)
    return (real(0.04) * V + real(5)) * V + real(140) - U + I_syn


@cuda.jit(device=True)
def euler(V: Any, U: Any, I_syn: Any, a: Any, b: Any, dt: Any) -> Any:
    """Return V and U after a step of Euler's method."""
    return V + dt * slope(V, U, I_syn), U + dt * a * (b * V - U)


@cuda.jit(device=True)
def published(V: Any, U: Any, I_syn: Any, a: Any, b: Any, dt: Any) -> Any:
    """Return V after two half steps, and U after a step with that V."""
    half = type(V)(0.5) * dt
    between = V + half * slope(V, U, I_syn)
    end = between + half * slope(between, U, I_syn)
    return end, U + dt * a * (b * end - U)


@cache
def kernel(move: Any) -> Any:
    """Return the kernel for one way to move."""

    # V_m and V are the same memory, and so are U_m and U.
    @cuda.jit
    def izhikevich_step(
        V_m: Any, U_m: Any, I_syn: Any, a: Any, b: Any, c: Any, d: Any, dt: Any, V_th: Any, jump: Any,
        V: Any, U: Any, spikes: Any,
    ) -> None:  # fmt: skip
        i = cuda.grid(1)
        if i < V.size:
            new, recovery = move(V[i], U[i], at(I_syn, i), at(a, i), at(b, i), at(dt, i))
            new += at(jump, i)
            spike = new > at(V_th, i)
            V[i] = at(c, i) if spike else new
            U[i] = recovery + at(d, i) if spike else recovery
            spikes[i] = spike

    return izhikevich_step


def build(*, outs: Any, method: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    chosen = kernel(euler if method == "euler" else published)
    step = numba_cuda_kernel(chosen, outs, launch_dims=outs[0].size, input_output_aliases={0: 0, 1: 1})

    def call(V_m: Any, U_m: Any, *parameters: Any) -> Any:
        return step(V_m, U_m, *(x.reshape(-1) for x in parameters))

    return call
