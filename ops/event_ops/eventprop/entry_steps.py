"""A step of a sample whose synapses have a delay each: forwards to exact times of spikes, and backwards."""

from typing import Any

from event_ops.eventprop.adjoint import Gradients, event_backwards, latest, make_differentiate
from event_ops.eventprop.arrivals import Chains, Sample
from event_ops.eventprop.dynamics import Neuron, factors, moved
from event_ops.eventprop.entries import (
    Entries,
    Kept,
    Passages,
    Table,
    all_passages,
    arriving,
    arriving_again,
    fill_factors,
    new_kept,
)
from event_ops.eventprop.forward import Held, Near, Record, Step, make_simulate, spike_exactly
from event_ops.kernels.numba_cpu.jit import njit


@njit(_nrt=False)
def deliver_entries(weights: Any, table: Table, size: int, neuron: Neuron, step: Step) -> None:
    """Add up the arrivals of a step at its end."""
    step.to_V[:] = 0
    step.to_I[:] = 0
    step.fall[:] = 0
    for q in range(size):
        w, j = weights[table.entries[q]], table.neurons[q]
        step.to_V[j] += table.left[q, 2] * w
        step.to_I[j] += table.left[q, 1] * w
        step.fall[j] -= (neuron.dt - table.offsets[q]) * neuron.rate_m * min(w, 0)


@njit(_nrt=False)
def sorted_arrivals(table: Table, j: int) -> int:
    """List the places of the arrivals at a neuron by time, and return how many there are."""
    count, q, places = 0, table.head[j], table.places
    while q >= 0:
        place = count
        while place > 0 and table.offsets[places[place - 1]] > table.offsets[q]:
            places[place] = places[place - 1]
            place -= 1
        places[place] = q
        count, q = count + 1, table.following[q]
    return count


@njit(_nrt=False)
def walk_entries(
    near: Near, size: int, table: Table, entries: Entries, sample: Sample, held: Held, begin: float,
    neuron: Neuron, record: Record, spikes: int,
) -> int:  # fmt: skip
    """Move listed neurons through a step, each by its arrivals; return the number of spikes so far."""
    for c in range(size):
        count, before, places = sorted_arrivals(table, near.ids[c]), 0.0, table.places
        for k in range(count + 1):
            end = table.offsets[places[k]] if k < count else neuron.dt
            near.V_end[c], I_end = moved(near.V[c], near.I[c], end - before, neuron)
            spikes = spike_exactly(
                near, c, I_end, begin + before, end - before, sample, held, neuron, record, spikes
            )  # fmt: skip
            before = end
            if k < count:
                near.V[c], near.I[c] = near.V_end[c], I_end + entries.weights[table.entries[places[k]]]
    return spikes


@njit(_nrt=False)
def arrival_backwards(
    weights: Any, table: Table, q: int, lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients
) -> None:
    """Add the derivatives in weight and delay of an entry, and in the time of its spike."""
    e, j = table.entries[q], table.neurons[q]
    of_V, of_I, gain = table.left[q]
    V, I = of_V * lambda_V[j], of_I * lambda_I[j] + gain * lambda_V[j]
    moving = weights[e] * (I * neuron.rate_syn - V * neuron.rate_m)
    gradients.weights[e] += I
    gradients.delays[e] += moving
    gradients.arrivals[table.spikes[q]] += moving


@njit
def begin(entries: Entries, spikes: int) -> Kept:
    """Return room for the spikes that are under way."""
    return new_kept(spikes)


@njit
def arrive(
    entries: Entries, kept: Kept, chains: Chains, sample: Sample, k: int, neuron: Neuron, step: Step
) -> Table:
    """Add up the arrivals of step k, and return them."""
    table, size = arriving(entries, kept, chains, sample, step.to_V.size, k, neuron.dt)
    fill_factors(table, size, neuron)
    deliver_entries(entries.weights, table, size, neuron, step)
    return table


@njit
def back(
    entries: Entries, passages: Passages, chains: Chains, sample: Sample, k: int, record: Record,
    cotangents: Any, lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back through step k: at each neuron arrivals behind an event, the event, and arrivals before it."""
    table, size = arriving_again(entries, passages, sample, lambda_V.size, k, neuron.dt)
    fill_factors(table, size, neuron)
    p = record.ends[k + 1] - 1
    time, is_release = latest(record, p, k, neuron, gradients)
    while time >= 0:
        j = record.ids[gradients.released[0] if is_release else p]
        count, places = sorted_arrivals(table, j), table.places
        while count > 0 and table.offsets[places[count - 1]] >= time:
            count -= 1
            arrival_backwards(entries.weights, table, places[count], lambda_V, lambda_I, neuron, gradients)
        # Those that are left, for the event before this, or the end.
        table.head[j] = -1
        for i in range(count):
            table.following[places[i]], table.head[j] = table.head[j], places[i]
        event_backwards(
            record, p, factors(neuron.dt - time, neuron), is_release, cotangents, sample, neuron, lambda_V,
            lambda_I, gradients,
        )  # fmt: skip
        p -= not is_release
        time, is_release = latest(record, p, k, neuron, gradients)
    for j in range(table.head.size):
        q = table.head[j]
        while q >= 0:
            arrival_backwards(entries.weights, table, q, lambda_V, lambda_I, neuron, gradients)
            q = table.following[q]


simulate = make_simulate(begin, arrive, walk_entries)
differentiate = make_differentiate(all_passages, back)
