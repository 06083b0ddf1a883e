"""A sample backwards: derivatives of a loss in V and I, which jump at the spikes of their neuron.

Between events they follow the transpose of the closed forms. At a spike at t, dt = -dV / V'(t-): the loss
depends on t by itself, by the arrivals of the spike, and since V leaves V_reset later, a refractory time
after t. A weight of an arrival at a neuron has the derivative lambda_I there, its time w * d(lambda_I)/dt; at
each spike V_th has -lambda_V(t-), and V_reset lambda_V where V leaves it. No state of a step is kept.
"""

# V and I are potential and current, and no constants:
# pyright: reportConstantRedefinition=false
from typing import Any, NamedTuple

from event_ops.eventprop.arrivals import Sample, enlist_inputs, enlist_outputs, new_chains
from event_ops.eventprop.dynamics import Neuron, factors, neuron_of, slope
from event_ops.eventprop.forward import Record
from event_ops.kernels.numba_cpu.jit import INLINED, njit


class Gradients(NamedTuple):
    """Hold derivatives of the loss: in weights, delays and levels, to which samples add, and in arrivals.

    `of_inputs`: whether those in delays, and in times of inputs, are wanted, and not of neurons alone.
    `of_releases`: in times of releases, by their spikes, the next of which, going back, is in `released`.
    """

    weights: Any
    delays: Any
    levels: Any
    arrivals: Any
    of_inputs: Any
    of_releases: Any
    released: Any


@njit(**INLINED, error_model="numpy")
def event_backwards(
    record: Record, p: int, left: tuple[float, float, float], is_release: bool, cotangents: Any,
    sample: Sample, neuron: Neuron, lambda_V: Any, lambda_I: Any, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back over spike p, or over the next release; `left`: factors from there to the end of its step.

    Derivatives in V and I are kept as if nothing happened between their time and the end of the step: then
    those of all neurons at an arrival are the same combination. That in V is 0 while V is held.
    """
    of_V, of_I, gain = left
    if is_release:
        r = gradients.released[0]
        j = record.ids[r]
        V, I = of_V * lambda_V[j], of_I * lambda_I[j] + gain * lambda_V[j]
        gradients.levels[1, j] += V
        gradients.of_releases[r] = -slope(float(sample.levels[1, j]), float(record.releases[r]), neuron) * V
        lambda_V[j], lambda_I[j] = 0, I / of_I
        gradients.released[0] -= 1
    else:
        j = record.ids[p]
        of_time = cotangents[p] + gradients.arrivals[sample.times.size + p] + gradients.of_releases[p]
        # What no loss depends on has no derivative, also where V only touches V_th.
        V = (
            -of_time / slope(float(sample.levels[0, j]), float(record.currents[p]), neuron)
            if of_time
            else 0.0
        )
        gradients.levels[0, j] -= V
        lambda_V[j] = V / of_V
        lambda_I[j] -= gain * (V / of_V) / of_I


@njit(**INLINED)
def latest(record: Record, p: int, k: int, neuron: Neuron, gradients: Gradients) -> tuple[float, bool]:
    """Return how long after the beginning of step k its latest event is, or -1 if there is none.

    That is spike p, or the next release, a refractory time after its spike, which is meant if both are one.
    It is rounded as the time of an arrival is, since the two may be one.
    """
    begin, spiked, waited, r = k * neuron.dt, -1.0, -1.0, gradients.released[0]
    if p >= record.ends[k]:
        spiked = min(max(float(record.times[p]) - begin, 0.0), neuron.dt)
    if r >= 0 and (k == 0 or float(record.times[r]) + neuron.t_ref > begin or r >= record.ends[k]):
        waited = min(max(float(record.times[r]) + neuron.t_ref - begin, 0.0), neuron.dt)
    return max(spiked, waited), waited >= spiked


def make_differentiate(begin: Any, back: Any) -> Any:
    """Return the function that goes back through one sample, for synapses that these two deal with.

    `begin(synapses, chains, sample, dt)` returns what they keep; `back(synapses, kept, chains, sample, k,
    record, cotangents, lambda_V, lambda_I, neuron, gradients)` goes back through the events of step k.
    """

    @njit
    def differentiate(
        synapses: Any, sample: Sample, record: Record, state: Any, cotangents: Any, ct_state: Any,
        parameters: Any, gradients: Gradients,
    ) -> None:  # fmt: skip
        """Go back through one sample; ct_state becomes the derivatives in the first V and I.

        `cotangents`: of the times of spikes; the trace of the record holds those of V at the ends of steps.
        """
        neuron, lambda_V, lambda_I = neuron_of(parameters), ct_state[0], ct_state[1]
        steps, dt, real = record.ends.size - 1, neuron.dt, lambda_V.dtype.type
        chains = new_chains(steps, sample.times.size + record.times.size)
        all_V, all_I, all_gain = factors(dt, neuron)
        of_V, of_I, gain = real(all_V), real(all_I), real(all_gain)
        enlist_inputs(chains, sample, synapses.first, dt)
        for k in range(steps):
            enlist_outputs(chains, sample, record.ends[k], record.ends[k + 1], synapses.first, k + 1, dt)
        kept = begin(synapses, chains, sample, dt)
        lambda_V[:] = 0
        lambda_I[:] = 0
        gradients.arrivals[:] = 0
        gradients.of_releases[:] = 0
        # What is released behind the end has no derivative.
        last = record.ends[steps] - 1
        while last >= 0 and float(record.times[last]) + neuron.t_ref > steps * dt:
            last -= 1
        gradients.released[0] = last
        for k in range(steps - 1, -1, -1):
            if record.trace.shape[0]:
                for j in range(lambda_V.size):
                    lambda_V[j] += record.trace[k, j]
            back(
                synapses, kept, chains, sample, k, record, cotangents, lambda_V, lambda_I, neuron, gradients
            )  # fmt: skip
            for j in range(lambda_V.size):
                lambda_I[j] = of_I * lambda_I[j] + gain * lambda_V[j]
                lambda_V[j] = of_V * lambda_V[j]

    return differentiate
