"""One step of Hodgkin-Huxley neurons on the CPU: vectorised passes without branches, one per substep.

They go through a block of neurons, which stays in the nearest cache. The kernel that is emitted from the step
of one neuron does the same, and takes 1.06 of the time in float32, 1.10 to 1.12 in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.codegen.emit import defined, function_source
from event_ops.kernels.numba_cpu.access import at, hoist, stored_spikes
from event_ops.kernels.numba_cpu.exponential import exp
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit, num_threads
from event_ops.kernels.numba_cpu.membrane import is_held, relax
from ffi_bridge import numba_kernel

# Below this many neurons the step takes less time than a parallel launch.
MIN_PARALLEL = 1 << 11

BLOCK: Final = 512
_STATES: Final = 7


class States(NamedTuple):
    """The outputs: the states of the neurons, which are changed in place, and their spikes."""

    V: Any
    held_for: Any
    g_ex: Any
    g_in: Any
    m: Any
    h: Any
    n: Any
    spikes: Any


class Parameters(NamedTuple):
    """The inputs behind the states: single values, or one per neuron."""

    decay_ex: Any
    decay_in: Any
    mean_ex: Any
    mean_in: Any
    g_L: Any
    leak: Any
    E_ex: Any
    E_in: Any
    rate: Any
    g_Na: Any
    E_Na: Any
    g_K: Any
    E_K: Any
    V_T: Any
    half: Any
    t_ref: Any
    dt: Any


_INPUTS: Final = _STATES + len(Parameters._fields)
_OUTSIDE: Final = {x.__name__: x for x in (Parameters, States, num_threads, prange, stored_spikes)}


# Each state is the same memory as its output (XLA copies it first where it is needed again). The kernels read
# the outputs: they would not vectorise otherwise, since LLVM sees two arrays that overlap.


# With Python's error model a division would raise where it divides by 0, and so not vectorise.
@njit(fastmath=CONTRACT, error_model="numpy", forceinline=True)
def linoid(x: Any) -> Any:
    """Return x / (exp(x) - 1), near 0 by its series."""
    real, y = type(x), x * x
    series = real(1 / 30240) - y * (real(1 / 1209600) - y * real(1 / 47900160))
    series = real(1) - x * real(0.5) + y * (real(1 / 12) - y * (real(1 / 720) - y * series))
    return series if abs(x) < real(0.3) else x / (exp(x) - real(1))


@njit(fastmath=CONTRACT, error_model="numpy", forceinline=True)
def toward(x: Any, alpha: Any, beta: Any, time: Any) -> Any:
    """Return a gate after so much time with constant rates."""
    end = alpha / (alpha + beta)
    return end + (x - end) * exp(-(alpha + beta) * time)


@njit(fastmath=CONTRACT, error_model="numpy", forceinline=True)
def gates(v: Any, m: Any, h: Any, n: Any, time: Any) -> Any:
    """Return m, h and n after so much time at one potential."""
    real = type(v)
    alpha_m = real(1.28) * linoid((real(13) - v) * real(1 / 4))
    beta_m = real(1.4) * linoid((v - real(40)) * real(1 / 5))
    alpha_h = real(0.128) * exp((real(17) - v) * real(1 / 18))
    beta_h = real(4) / (real(1) + exp((real(40) - v) * real(1 / 5)))
    alpha_n = real(0.16) * linoid((real(15) - v) * real(1 / 5))
    beta_n = real(0.5) * exp((real(10) - v) * real(1 / 40))
    return (
        toward(m, alpha_m, beta_m, time),
        toward(h, alpha_h, beta_h, time),
        toward(n, alpha_n, beta_n, time),
    )


@njit(fastmath=CONTRACT)
def substep(p: Parameters, states: States, low: int, high: int) -> None:
    """Move the neurons from `low` to `high` by a substep."""
    V, _, ex, into, ms, hs, ns, _ = states
    fading_ex, fading_in, part_ex, part_in = (
        hoist(p.decay_ex),
        hoist(p.decay_in),
        hoist(p.mean_ex),
        hoist(p.mean_in),
    )
    leaky, rest, to_ex, to_in, speed = (
        hoist(p.g_L),
        hoist(p.leak),
        hoist(p.E_ex),
        hoist(p.E_in),
        hoist(p.rate),
    )
    most_Na, to_Na, most_K, to_K = hoist(p.g_Na), hoist(p.E_Na), hoist(p.g_K), hoist(p.E_K)
    origin, time = hoist(p.V_T), hoist(p.half)
    for i in range(np.uintp(low), np.uintp(high)):
        m, h, n = gates(V[i] - at(origin, i), ms[i], hs[i], ns[i], at(time, i))
        sodium, potassium = at(most_Na, i) * m * m * m * h, at(most_K, i) * n * n * n * n
        g_ex, g_in = ex[i], into[i]
        new = relax(
            V[i], g_ex * at(part_ex, i), g_in * at(part_in, i), at(leaky, i) + sodium + potassium,
            at(rest, i) + sodium * at(to_Na, i) + potassium * at(to_K, i),
            at(to_ex, i), at(to_in, i), at(speed, i),
        )  # fmt: skip
        V[i] = new
        ex[i], into[i] = g_ex * at(fading_ex, i), g_in * at(fading_in, i)
        ms[i], hs[i], ns[i] = gates(new - at(origin, i), m, h, n, at(time, i))


@njit(fastmath=CONTRACT)
def find_maxima(p: Parameters, states: States, before: Any, low: int, high: int) -> None:
    """Write spikes and refractory times from `low` to `high`, of neurons that were at `before`."""
    V, held_for, spikes = states.V, states.held_for, states.spikes
    origin, refractory, step = hoist(p.V_T), hoist(p.t_ref), hoist(p.dt)
    zero, height = V.dtype.type(0), V.dtype.type(30)
    for i in range(np.uintp(low), np.uintp(high)):
        new, left = V[i], held_for[i]
        held = is_held(left, at(step, i))
        spike = (new > at(origin, i) + height) & (new < before[i - np.uintp(low)]) & (not held)
        remaining = max(left - at(step, i), zero) if held else zero
        held_for[i] = at(refractory, i) if spike else remaining
        spikes[i] = spike


@cache
def kernel(large: bool, substeps: int) -> Any:
    """Return the kernel for one thread, or for all threads, with so many substeps."""

    @njit(fastmath=CONTRACT)
    def step_range(p: Parameters, states: States, low: int, high: int) -> None:
        before = np.empty(BLOCK, states.V.dtype)
        for first in range(low, high, BLOCK):
            end = min(first + BLOCK, high)
            before[: end - first] = states.V[first:end]
            for _ in range(substeps):
                substep(p, states, first, end)
            find_maxima(p, states, before, first, end)

    inputs, outputs = [f"x{k}" for k in range(_INPUTS)], [f"y{k}" for k in range(len(States._fields))]
    body = [
        f"p = Parameters({', '.join(inputs[_STATES:])})",
        f"states = States({', '.join(outputs[:-1])}, stored_spikes({outputs[-1]}))",
        f"size, parts = y0.size, {'num_threads()' if large else '1'}",
        f"for part in {'prange' if large else 'range'}(parts):",
        "    step_range(p, states, size * part // parts, size * (part + 1) // parts)",
    ]
    # A kernel takes its arrays one by one, which only a source that is made here does in so few lines.
    source = function_source("hh_cond_exp_step", [*inputs, *outputs], body)
    return njit(parallel=large)(defined(source, "hh_cond_exp_step", step_range=step_range, **_OUTSIDE))


def build(*, outs: Any, substeps: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    large = reaches(outs[0].size, MIN_PARALLEL)
    return numba_kernel(kernel(large, substeps), outs, input_output_aliases={i: i for i in range(_STATES)})
