"""A step of a sample whose dense rows have a delay each: forwards to exact times of spikes, and backwards."""

from typing import Any, NamedTuple

from event_ops.eventprop.adjoint import Gradients, event_backwards, latest, make_differentiate
from event_ops.eventprop.arrivals import Chains, Sample
from event_ops.eventprop.dynamics import Neuron
from event_ops.eventprop.forward import Held, Near, Record, Step, make_simulate, spike_exactly
from event_ops.eventprop.row_derivatives import instant_backwards
from event_ops.eventprop.row_sums import Sums, deliver, new_sums
from event_ops.eventprop.rows import Arrivals, Rows, collect, new_arrivals
from event_ops.kernels.numba_cpu.jit import CONTRACT, INLINED, njit


@njit(_nrt=False, fastmath=CONTRACT)
def move_all(near: Near, size: int, of_V: float, of_I: float, gain: float, share: float) -> int:
    """Move V of neurons to the next instant; return how many may spike or are held, where `over` > 0.

    `share`: the time up to then in tau_m.
    """
    hits = 0
    for c in range(size):
        V, I, V_th = near.V[c], near.I[c], near.V_th[c]
        V_end = V * of_V + gain * I
        near.V_end[c] = V_end
        rise = I - V
        # Above at the end, or with a maximum in between, and a tangent that passes the threshold.
        peak = min(V + rise * share - V_th, min(rise, V_end - of_I * I))
        near.over[c] = max(max(V_end - V_th, peak), near.held_until[c])
        hits += near.over[c] > 0
    return hits


@njit(**INLINED)
def add_row(near: Near, size: int, row: Any) -> None:
    """Add a row to I of neurons."""
    for c in range(size):
        near.I[c] += row[near.ids[c]]


@njit(_nrt=False)
def walk(
    near: Near, size: int, arrived: Any, rows: Rows, sample: Sample, held: Held, begin: float,
    neuron: Neuron, record: Record, spikes: int,
) -> int:  # fmt: skip
    """Move listed neurons through a step, from instant to instant; return the number of spikes so far."""
    ((arrivals, sums), count), before = arrived, 0.0
    for q in range(count + 1):
        end, of_V, of_I, gain = (
            arrivals.times[q],
            arrivals.gaps[0, q],
            arrivals.gaps[1, q],
            arrivals.gaps[2, q],
        )
        if move_all(near, size, of_V, of_I, gain, (end - before) * neuron.rate_m):
            for c in range(size):
                if near.over[c] > 0:
                    left_I = of_I * near.I[c]
                    spikes = spike_exactly(
                        near, c, left_I, begin + before, end - before, sample, held, neuron, record, spikes
                    )  # fmt: skip
        before = end
        if q < count:
            for c in range(size):
                near.V[c], near.I[c] = near.V_end[c], of_I * near.I[c]
            if sums.of[q] >= 0:
                add_row(near, size, sums.rows[sums.of[q]])
            else:
                for r in range(arrivals.starts[q], arrivals.starts[q + 1]):
                    add_row(near, size, rows.weights[arrivals.rows[r]])
    return spikes


class Kept(NamedTuple):
    """Hold the arrivals of a step and their sums."""

    arrivals: Arrivals
    sums: Sums


@njit
def begin(rows: Rows, spikes: int) -> Kept:
    """Return room for the arrivals of a step."""
    return Kept(new_arrivals(spikes, rows.weights), new_sums(spikes, rows.weights))


@njit
def arrive(
    rows: Rows, kept: Kept, chains: Chains, sample: Sample, k: int, neuron: Neuron, step: Step
) -> tuple[Kept, int]:
    """Add up the arrivals of step k, and return them, and how many instants they have."""
    instants = collect(chains, sample, k, rows.first, neuron, kept.arrivals)
    deliver(rows.weights, kept.arrivals, instants, neuron, kept.sums, step)
    return kept, instants


@njit
def begin_backwards(rows: Rows, chains: Chains, sample: Sample, neuron: Neuron) -> Arrivals:
    """Return room for the arrivals of a step."""
    return new_arrivals(chains.following.size, rows.weights)


@njit(_nrt=False)
def back(
    rows: Rows, arrivals: Arrivals, chains: Chains, sample: Sample, k: int, record: Record, cotangents: Any,
    lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back through instants and spikes of step k by time."""
    q, p = collect(chains, sample, k, rows.first, neuron, arrivals) - 1, record.ends[k + 1] - 1
    while True:
        left, is_release = latest(record, p, k, neuron, gradients)
        if q >= 0 and arrivals.times[q] >= neuron.dt - left:
            instant_backwards(
                rows.weights, arrivals, sample.times.size, q, lambda_V, lambda_I, neuron, gradients
            )  # fmt: skip
            q -= 1
        elif left > neuron.dt:
            break
        else:
            event_backwards(
                record, p, left, is_release, cotangents, sample, neuron, lambda_V, lambda_I, gradients
            )  # fmt: skip
            p -= not is_release


simulate = make_simulate(begin, arrive, walk)
differentiate = make_differentiate(begin_backwards, back)
