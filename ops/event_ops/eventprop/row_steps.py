"""A step of a sample whose dense rows have a delay each: forwards to exact times of spikes, and backwards."""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.eventprop.adjoint import Gradients, event_backwards, latest, make_differentiate
from event_ops.eventprop.arrivals import Chains, Sample
from event_ops.eventprop.dynamics import Neuron
from event_ops.eventprop.forward import Held, Near, Record, Step, make_simulate, spike_exactly
from event_ops.eventprop.rows import Arrivals, Rows, collect, new_arrivals
from event_ops.kernels.numba_cpu.jit import CONTRACT, INLINED, REORDER, njit
from event_ops.kernels.numba_cpu.prefetch import prefetch, prefetch_element
from event_ops.kernels.numba_cpu.simd import add_product, load, negative_part, store

_WIDTH: Final = 16  # neurons whose sums are in registers


@njit(**INLINED)
def _added(sums: Any, values: Any, shares: Any, r: int) -> Any:
    """Return sums of V, I and the fall of V with one more row."""
    to_V, to_I, fall = sums
    return (
        add_product(to_V, shares[r, 0], values),
        add_product(to_I, shares[r, 1], values),
        add_product(fall, shares[r, 2], negative_part(values)),
    )


@njit(_nrt=False)
def _deliver_four(weights: Any, arrivals: Arrivals, r: int, ahead: int, step: Step) -> None:
    """Add up four arrivals from r on, so that sums are read and written once; ask for those from `ahead`."""
    rows, shares, size = arrivals.rows, arrivals.shares, np.int64(weights.shape[1])
    a, b, c, d = rows[r] * size, rows[r + 1] * size, rows[r + 2] * size, rows[r + 3] * size
    whole = size - size % _WIDTH
    for j in range(0, whole, _WIDTH):
        for k in range(ahead, ahead + 4):
            prefetch(weights, rows[k] * size + j)
        sums = load(step.to_V, j, _WIDTH), load(step.to_I, j, _WIDTH), load(step.fall, j, _WIDTH)
        sums = _added(sums, load(weights, a + j, _WIDTH), shares, r)
        sums = _added(sums, load(weights, b + j, _WIDTH), shares, r + 1)
        sums = _added(sums, load(weights, c + j, _WIDTH), shares, r + 2)
        sums = _added(sums, load(weights, d + j, _WIDTH), shares, r + 3)
        store(step.to_V, j, sums[0])
        store(step.to_I, j, sums[1])
        store(step.fall, j, sums[2])
    for j in range(whole, size):
        for k in range(r, r + 4):
            w = weights[rows[k], j]
            step.to_V[j] += shares[k, 0] * w
            step.to_I[j] += shares[k, 1] * w
            step.fall[j] += shares[k, 2] * min(w, weights.dtype.type(0))


@njit(_nrt=False)
def deliver(weights: Any, arrivals: Arrivals, instants: int, neuron: Neuron, step: Step) -> None:
    """Add up the arrivals of a step: each is a row of weights times three numbers."""
    rows, shares, count = arrivals.rows, arrivals.shares, arrivals.starts[instants]
    for q in range(instants):
        of_I, gain = arrivals.left[1, q], arrivals.left[2, q]
        fraction = (neuron.dt - arrivals.times[q]) * neuron.rate_m
        for r in range(arrivals.starts[q], arrivals.starts[q + 1]):
            shares[r, 0], shares[r, 1], shares[r, 2] = gain, of_I, -fraction
    fours = count + -count % 4
    for r in range(count, fours):
        rows[r] = rows[count - 1]
        shares[r] = 0
    step.to_V[:] = 0
    step.to_I[:] = 0
    step.fall[:] = 0
    for r in range(0, fours, 4):
        _deliver_four(weights, arrivals, r, min(r + 4, fours - 4), step)


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


@njit(_nrt=False)
def walk(
    near: Near, size: int, arrived: Any, rows: Rows, sample: Sample, held: Held, begin: float,
    neuron: Neuron, record: Record, spikes: int,
) -> int:  # fmt: skip
    """Move listed neurons through a step, from instant to instant; return the number of spikes so far."""
    (arrivals, count), before = arrived, 0.0
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
            for r in range(arrivals.starts[q], arrivals.starts[q + 1]):
                row = rows.weights[arrivals.rows[r]]
                for c in range(size):
                    near.I[c] += row[near.ids[c]]
    return spikes


@njit
def begin(rows: Rows, spikes: int) -> Arrivals:
    """Return room for the arrivals of a step."""
    return new_arrivals(spikes, rows.weights)


@njit
def arrive(
    rows: Rows, arrivals: Arrivals, chains: Chains, sample: Sample, k: int, neuron: Neuron, step: Step
) -> tuple[Arrivals, int]:
    """Add up the arrivals of step k, and return them, and how many instants they have."""
    instants = collect(chains, sample, k, rows.first, neuron, arrivals)
    deliver(rows.weights, arrivals, instants, neuron, step)
    return arrivals, instants


class Back(NamedTuple):
    """Hold the arrivals of a step, and derivatives of all neurons at an instant: in a weight, and in time.

    `inputs`: how many spikes are those of inputs.
    """

    arrivals: Arrivals
    of_weight: Any
    of_time: Any
    inputs: Any


@njit(_nrt=False)
def add_row(total: Any, row: Any) -> None:
    """Add a row to another."""
    for j in range(row.size):
        total[j] += row[j]


@njit(_nrt=False, fastmath=REORDER)
def dot(row: Any, by: Any) -> Any:
    """Return the sum of products of two rows."""
    total = row.dtype.type(0)
    for j in range(row.size):
        total += row[j] * by[j]
    return total


@njit(_nrt=False, fastmath=REORDER)
def instant_backwards(
    weights: Any, kept: Back, q: int, lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients
) -> None:
    """Add the derivatives in weights and times of the arrivals of an instant."""
    arrivals, real = kept.arrivals, weights.dtype.type
    of_V, of_I, gain = arrivals.left[0, q], arrivals.left[1, q], arrivals.left[2, q]
    from_V, from_I = real(gain), real(of_I)
    by_V, by_I = real(gain * neuron.rate_syn - of_V * neuron.rate_m), real(of_I * neuron.rate_syn)
    of_weight, of_time = kept.of_weight, kept.of_time
    for j in range(lambda_V.size):
        V, I = lambda_V[j], lambda_I[j]
        of_weight[j] = from_V * V + from_I * I
        of_time[j] = by_V * V + by_I * I
    # Behind the spikes of inputs, whose times may have no derivatives that are wanted.
    moving = 0 if gradients.of_inputs else kept.inputs
    for r in range(arrivals.starts[q + 1] - 1, arrivals.starts[q] - 1, -1):
        if r > 0:
            prefetch_element(gradients.weights, np.int64(arrivals.rows[r - 1]))
            if arrivals.spikes[r - 1] >= moving:
                prefetch_element(weights, np.int64(arrivals.rows[r - 1]))
        row, spike = arrivals.rows[r], arrivals.spikes[r]
        add_row(gradients.weights[row], of_weight)
        if spike >= moving:
            total = dot(weights[row], of_time)
            gradients.arrivals[spike] = total
            gradients.delays[row] += total


@njit
def begin_backwards(rows: Rows, chains: Chains, sample: Sample, neuron: Neuron) -> Back:
    """Return room for the arrivals of a step."""
    size = rows.weights.shape[1]
    of_weight, of_time = np.empty(size, rows.weights.dtype), np.empty(size, rows.weights.dtype)
    arrivals = new_arrivals(chains.following.size, rows.weights)
    return Back(arrivals, of_weight, of_time, sample.times.size)


@njit(_nrt=False)
def back(
    rows: Rows, kept: Back, chains: Chains, sample: Sample, k: int, record: Record, cotangents: Any,
    lambda_V: Any, lambda_I: Any, neuron: Neuron, gradients: Gradients,
) -> None:  # fmt: skip
    """Go back through instants and spikes of step k by time."""
    arrivals = kept.arrivals
    q, p = collect(chains, sample, k, rows.first, neuron, arrivals) - 1, record.ends[k + 1] - 1
    while True:
        left, is_release = latest(record, p, k, neuron, gradients)
        if q >= 0 and arrivals.times[q] >= neuron.dt - left:
            instant_backwards(rows.weights, kept, q, lambda_V, lambda_I, neuron, gradients)
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
