"""A sample backwards: derivatives of a loss in V and I, which jump at the spikes of their neuron.

Between events they follow the transpose of the closed forms. At a spike at t, dt = -dV / V'(t-): the loss
depends on t by itself, by the arrivals of the spike, and since V leaves V_reset later. A weight of an arrival
at a neuron has the derivative lambda_I there, its time w * d(lambda_I)/dt. No state of a step is kept.
"""

from typing import Any, NamedTuple

import numpy as np

from event_ops.eventprop.arrivals import (
    Arrivals,
    Sample,
    collect,
    enlist_inputs,
    enlist_outputs,
    new_arrivals,
    new_chains,
)
from event_ops.eventprop.dynamics import Neuron, factors, slope
from event_ops.eventprop.forward import Record
from event_ops.kernels.numba_cpu.jit import REORDER, njit


class Gradients(NamedTuple):
    """Hold derivatives of the loss: in weights and delays, to which samples add, and in times of arrival."""

    weights: Any
    delays: Any
    arrivals: Any


@njit(_nrt=False, fastmath=REORDER)
def arrival_backwards(
    weights: Any, arrivals: Arrivals, q: int, lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients
) -> None:
    """Add the derivatives in weights and time of an arrival."""
    real, row = weights.dtype.type, arrivals.rows[q]
    of_V, of_I, gain = arrivals.left[q]
    from_V, from_I = real(gain), real(of_I)
    by_V, by_I = real(gain / neuron.tau_syn - of_V / neuron.tau_m), real(of_I / neuron.tau_syn)
    values, gradient, total = weights[row], gradients.weights[row], real(0)
    for j in range(values.size):
        gradient[j] += from_V * lambda_V[j] + from_I * lambda_I[j]
        total += values[j] * (by_V * lambda_V[j] + by_I * lambda_I[j])
    gradients.arrivals[arrivals.spikes[q]] = total
    gradients.delays[row] += total


@njit(_nrt=False)
def spike_backwards(
    current: float, of_time: float, left: float, j: int, neuron: Neuron, lambda_V: Any, lambda_I: Any
) -> None:
    """Go back over a spike of neuron j, `left` before the end of the step.

    Derivatives in V and I are kept as if nothing happened between their time and the end of the step: then
    those of all neurons at an arrival are the same combination.
    """
    of_V, of_I, gain = factors(left, neuron)
    V, I = of_V * lambda_V[j], of_I * lambda_I[j] + gain * lambda_V[j]
    of_time -= slope(neuron.V_reset, current, neuron) * V
    V = -of_time / slope(neuron.V_th, current, neuron)
    lambda_V[j] = V / of_V
    lambda_I[j] = (I - gain * (V / of_V)) / of_I


@njit
def differentiate(
    weights: Any, delays: Any, sample: Sample, record: Record, cotangents: Any, lambda_V: Any, lambda_I: Any,
    neuron: Neuron, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back through one sample; lambda_V and lambda_I become the derivatives in the first V and I.

    `cotangents`: of the times of spikes; the trace of the record holds those of V at the ends of steps.
    """
    steps, dt, inputs = record.ends.size - 1, neuron.dt, sample.times.size
    chains = new_chains(steps, inputs + record.times.size)
    arrivals = new_arrivals(chains.following.size)
    real = lambda_V.dtype.type
    all_V, all_I, all_gain = factors(dt, neuron)
    of_V, of_I, gain = real(all_V), real(all_I), real(all_gain)
    enlist_inputs(chains, sample, delays, dt)
    for k in range(steps):
        enlist_outputs(chains, sample, record.ends[k], record.ends[k + 1], delays, k + 1, dt)
    lambda_V[:] = 0
    lambda_I[:] = 0
    gradients.arrivals[:] = 0
    for k in range(steps - 1, -1, -1):
        if record.trace.shape[0]:
            lambda_V += record.trace[k]
        q, p = collect(chains, sample, k, delays, neuron, arrivals) - 1, record.ends[k + 1] - 1
        while q >= 0 or p >= record.ends[k]:
            left = (k + 1) * dt - float(record.times[p]) if p >= record.ends[k] else 2 * dt
            if q >= 0 and arrivals.offsets[q] >= dt - left:
                arrival_backwards(weights, arrivals, q, lambda_V, lambda_I, neuron, gradients)
                q -= 1
            else:
                of_time = float(cotangents[p]) + gradients.arrivals[inputs + p]
                left = min(max(left, 0.0), dt)
                spike_backwards(
                    float(record.currents[p]), of_time, left, record.ids[p], neuron, lambda_V, lambda_I
                )
                p -= 1
        for j in range(lambda_V.size):
            lambda_I[j] = of_I * lambda_I[j] + gain * lambda_V[j]
            lambda_V[j] = of_V * lambda_V[j]
