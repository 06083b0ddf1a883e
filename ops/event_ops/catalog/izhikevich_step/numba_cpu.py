"""One step of Izhikevich neurons on the CPU: one vectorised pass without branches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist, stored_spikes
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit, num_threads
from ffi_bridge import numba_kernel

# Below this many neurons the step takes less time than a parallel launch.
MIN_PARALLEL = 1 << 16


@njit(fastmath=CONTRACT)
def slope(V: Any, U: Any, I_syn: Any) -> Any:
    """Return dV/dt."""
    real = type(V)
    return (real(0.04) * V + real(5)) * V + real(140) - U + I_syn


@njit(fastmath=CONTRACT)
def euler(V: Any, U: Any, I_syn: Any, a: Any, b: Any, dt: Any) -> Any:
    """Return V and U after a step of Euler's method."""
    return V + dt * slope(V, U, I_syn), U + dt * a * (b * V - U)


@njit(fastmath=CONTRACT)
def published(V: Any, U: Any, I_syn: Any, a: Any, b: Any, dt: Any) -> Any:
    """Return V after two half steps, and U after a step with that V."""
    half = type(V)(0.5) * dt
    between = V + half * slope(V, U, I_syn)
    end = between + half * slope(between, U, I_syn)
    return end, U + dt * a * (b * end - U)


@cache
def kernel(move: Any, large: bool) -> Any:
    """Return the kernel for one way to move, and for one thread or for all threads."""

    # V_m and V are the same memory, and so are U_m and U (XLA copies them first where they are needed again).
    @njit(fastmath=CONTRACT)
    def step_range(
        I_syn: Any, a: Any, b: Any, c: Any, d: Any, dt: Any, V_th: Any, jump: Any,
        V: Any, U: Any, spikes: Any, low: int, high: int,
    ) -> None:  # fmt: skip
        driven, rate, sensitivity, reset = hoist(I_syn), hoist(a), hoist(b), hoist(c)
        rise, step, threshold, pushed = hoist(d), hoist(dt), hoist(V_th), hoist(jump)
        zero = V.dtype.type(0)
        for i in range(np.uintp(low), np.uintp(high)):
            new, recovery = move(V[i], U[i], at(driven, i), at(rate, i), at(sensitivity, i), at(step, i))
            new = new + at(pushed, i)
            spike = new > at(threshold, i)
            V[i] = at(reset, i) if spike else new
            U[i] = recovery + (at(rise, i) if spike else zero)
            spikes[i] = spike

    @njit(parallel=large)
    def izhikevich_step(
        V_m: Any, U_m: Any, I_syn: Any, a: Any, b: Any, c: Any, d: Any, dt: Any, V_th: Any, jump: Any,
        V: Any, U: Any, spikes: Any,
    ) -> None:  # fmt: skip
        stored, parts = stored_spikes(spikes), num_threads() if large else 1
        for part in prange(parts):
            step_range(
                I_syn, a, b, c, d, dt, V_th, jump,
                V, U, stored, V.size * part // parts, V.size * (part + 1) // parts,
            )  # fmt: skip

    return izhikevich_step


def build(*, outs: Any, method: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    move = euler if method == "euler" else published
    large = reaches(outs[0].size, MIN_PARALLEL)
    return numba_kernel(kernel(move, large), outs, input_output_aliases={0: 0, 1: 1})
