"""A sample backwards: derivatives of a loss in V and I, which jump at the spikes of their neuron.

Between events they follow the transpose of the closed forms. At a spike at t, dt = -dV / V'(t-): the loss
depends on t by itself, by the arrivals of the spike, and since V leaves V_reset later. A weight of an arrival
at a neuron has the derivative lambda_I there, its time w * d(lambda_I)/dt; at each spike V_th has
-lambda_V(t-), and V_reset lambda_V(t+). No state of a step is kept.
"""

# V and I are potential and current, and no constants:
# pyright: reportConstantRedefinition=false
from typing import Any, NamedTuple

from event_ops.eventprop.arrivals import Sample, enlist_inputs, enlist_outputs, new_chains
from event_ops.eventprop.dynamics import Neuron, factors, slope
from event_ops.eventprop.forward import Record
from event_ops.kernels.numba_cpu.jit import njit


class Gradients(NamedTuple):
    """Hold derivatives of the loss: in weights, delays and levels, to which samples add, and in arrivals.

    `of_inputs`: whether those in delays, and in times of inputs, are wanted, and not of neurons alone.
    """

    weights: Any
    delays: Any
    levels: Any
    arrivals: Any
    of_inputs: Any


@njit(_nrt=False)
def spike_backwards(
    record: Record, p: int, left: float, of_time: float, sample: Sample, neuron: Neuron, lambda_V: Any,
    lambda_I: Any, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back over spike p, `left` before the end of its step; of_time: the derivative in its time.

    Derivatives in V and I are kept as if nothing happened between their time and the end of the step: then
    those of all neurons at an arrival are the same combination.
    """
    of_V, of_I, gain = factors(left, neuron)
    j, current = record.ids[p], float(record.currents[p])
    V, I = of_V * lambda_V[j], of_I * lambda_I[j] + gain * lambda_V[j]
    gradients.levels[1, j] += V
    of_time -= slope(float(sample.levels[1, j]), current, neuron) * V
    V = -of_time / slope(float(sample.levels[0, j]), current, neuron)
    gradients.levels[0, j] -= V
    lambda_V[j] = V / of_V
    lambda_I[j] = (I - gain * (V / of_V)) / of_I


@njit(_nrt=False)
def time_left(record: Record, p: int, k: int, neuron: Neuron) -> float:
    """Return how much is left of step k, in which spike p is, after the spike."""
    return min(max((k + 1) * neuron.dt - float(record.times[p]), 0.0), neuron.dt)


def make_differentiate(begin: Any, back: Any) -> Any:
    """Return the function that goes back through one sample, for synapses that these two deal with.

    `begin(synapses, chains, sample, neuron)` returns what they keep; `back(synapses, kept, chains, sample, k,
    record, cotangents, lambda_V, lambda_I, neuron, gradients)` goes back through the events of step k.
    """

    @njit
    def differentiate(
        synapses: Any, sample: Sample, record: Record, cotangents: Any, lambda_V: Any, lambda_I: Any,
        neuron: Neuron, gradients: Gradients,
    ) -> None:  # fmt: skip
        """Go back through one sample; lambda_V and lambda_I become the derivatives in the first V and I.

        `cotangents`: of the times of spikes; the trace of the record holds those of V at the ends of steps.
        """
        steps, dt, real = record.ends.size - 1, neuron.dt, lambda_V.dtype.type
        chains = new_chains(steps, sample.times.size + record.times.size)
        all_V, all_I, all_gain = factors(dt, neuron)
        of_V, of_I, gain = real(all_V), real(all_I), real(all_gain)
        enlist_inputs(chains, sample, synapses.first, dt)
        for k in range(steps):
            enlist_outputs(chains, sample, record.ends[k], record.ends[k + 1], synapses.first, k + 1, dt)
        kept = begin(synapses, chains, sample, neuron)
        lambda_V[:] = 0
        lambda_I[:] = 0
        gradients.arrivals[:] = 0
        for k in range(steps - 1, -1, -1):
            if record.trace.shape[0]:
                lambda_V += record.trace[k]
            back(
                synapses, kept, chains, sample, k, record, cotangents, lambda_V, lambda_I, neuron, gradients
            )  # fmt: skip
            for j in range(lambda_V.size):
                lambda_I[j] = of_I * lambda_I[j] + gain * lambda_V[j]
                lambda_V[j] = of_V * lambda_V[j]

    return differentiate
