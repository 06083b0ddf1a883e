"""The definition, in pure JAX: every neuron goes from event to event within each step.

Backwards, all events of a neuron are known, and it is moved from one to the next: JAX differentiates that,
and the derivatives in times of spikes follow from those in later ones. For small networks alone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from event_ops.eventprop.models.crossings import first_crossing
from event_ops.eventprop.models.functions import Functions


class Synapses(NamedTuple):
    """Hold weights, and delays of rows or of weights, of dense rows or of entries.

    `columns`, `rows`: of entries; None of dense rows.
    """

    weights: Any
    delays: Any
    columns: Any
    rows: Any

    @classmethod
    def of(cls, weights: Any, delays: Any, indices: Any, indptr: Any) -> "Synapses":
        """Return the synapses."""
        if weights.ndim == 2:
            return cls(weights, delays, None, None)
        rows = jnp.searchsorted(indptr, jnp.arange(indices.size, dtype=indptr.dtype), side="right") - 1
        return cls(weights, delays, indices, rows)

    def arrivals(self, times: Any, rows: Any, neurons: int) -> tuple[Any, Any]:
        """Return times and weights of arrivals at each neuron, (many, neurons); inf and 0 if none."""
        is_spike = (rows >= 0) & jnp.isfinite(times)
        if self.columns is None:  # neurons without synapses between them have no rows
            is_spike &= rows < self.weights.shape[0]
        when, row = jnp.where(is_spike, times, 0), jnp.where(is_spike, rows, 0)
        if self.columns is None:
            delays, weights = self.delays[row], self.weights[row]
            arrival = when[:, None] + (delays if delays.ndim == 2 else delays[:, None])
            arrival, acts = jnp.broadcast_to(arrival, weights.shape), is_spike[:, None]
        else:
            every = when[:, None] + self.delays[None]
            at = self.columns[:, None] == jnp.arange(neurons, dtype=self.columns.dtype)[None]
            acts = is_spike[:, None, None] & (row[:, None] == self.rows[None])[:, :, None] & at[None]
            arrival = jnp.broadcast_to(every[:, :, None], acts.shape).reshape(-1, neurons)
            weights = jnp.broadcast_to(self.weights[None, :, None], acts.shape).reshape(-1, neurons)
            acts = acts.reshape(-1, neurons)
        acts = acts & (arrival >= 0) & jnp.isfinite(arrival)
        return jnp.where(acts, arrival, jnp.inf), jnp.where(acts, weights, 0)


def _moved(functions: Functions, x: Any, parameters: Any, length: Any, is_held: Any) -> Any:
    """Return the states after a time, in which held ones stay."""
    return jnp.stack(functions.moved.of_each(*x, *parameters, length, is_held.astype(length.dtype)))


class Run(NamedTuple):
    """Hold a run under way, in which neurons are at different times within a step.

    `taken`: up to when arrivals have acted; `held_until`: the end of the refractory time.
    """

    step: Any
    time: Any
    taken: Any
    x: Any
    held_until: Any
    number: Any
    times: Any
    ids: Any
    ends: Any
    is_right: Any


def _run_one(
    functions: Functions, synapses: Synapses, parameters: Any, constants: Any, outs: Any, times: Any,
    ids: Any, state: Any,
) -> Any:  # fmt: skip
    """Return spikes, ids, ends and trace of one sample."""
    like_spikes, like_ids, like_ends, like_trace = outs
    dt, input_rows = constants[0], constants[1].astype(jnp.int32)
    neurons, capacity, steps = state.shape[1], like_ids.shape[0], like_ends.shape[0] - 1
    each, zero, dtype = jnp.arange(neurons, dtype=jnp.int32), jnp.zeros((), jnp.int32), state.dtype
    rows = jnp.where(ids < input_rows, ids, -1)
    given, of_given = synapses.arrivals(times, rows, neurons)

    def is_below(x: Any) -> Any:
        return functions.level.of_each(*x, *parameters)[0] < 0

    def event(run: Run) -> Run:
        own, of_own = synapses.arrivals(
            run.times, jnp.where(run.ids < neurons, input_rows + run.ids, -1), neurons
        )
        every, weights = jnp.concatenate([given, own]), jnp.concatenate([of_given, of_own])
        is_next = every > run.taken[None]
        arrival = jnp.min(every, axis=0, where=is_next, initial=jnp.inf)
        end = (run.step + 1).astype(dtype) * dt
        is_held = run.held_until > run.time
        goes = (run.time < end) | (arrival <= end)
        release = jnp.where(is_held, run.held_until, jnp.inf)
        limit = jnp.minimum(jnp.minimum(arrival, end), release)
        length = jnp.where(goes, limit - run.time, 0)
        crossing = first_crossing(functions, run.x, parameters, length)
        is_spike = goes & ~is_held & jnp.isfinite(crossing)
        x = _moved(functions, run.x, parameters, jnp.where(is_spike, crossing, length), is_held)
        after = jnp.stack(functions.reset.of_each(*x, *parameters))
        arrived = jnp.sum(jnp.where(is_next & (every == limit[None]), weights, 0), axis=0)
        x = jnp.where(is_spike, after, x.at[functions.target].add(jnp.where(is_spike, 0, arrived)))
        time = jnp.where(is_spike, jnp.minimum(run.time + crossing, limit), limit)
        wait = parameters[functions.wait] if functions.wait >= 0 else 0
        place = jnp.where(is_spike, run.number + jnp.cumsum(is_spike, dtype=jnp.int32) - 1, capacity)
        number = jnp.minimum(run.number + is_spike.sum(dtype=jnp.int32), capacity + 1)
        is_over = ~goes.any()
        return Run(
            run.step + is_over.astype(jnp.int32),
            jnp.where(goes, time, run.time),
            jnp.where(goes & ~is_spike, limit, run.taken),
            jnp.where(goes, x, run.x),
            jnp.where(is_spike, time + wait, run.held_until),
            number,
            run.times.at[place].set(time, mode="drop"),
            run.ids.at[place].set(each, mode="drop"),
            run.ends.at[jnp.where(is_over, run.step + 1, steps + 1)].set(number, mode="drop"),
            run.is_right & jnp.all(~(is_spike | (goes & (limit == release))) | is_below(x)),
        )

    begin = Run(
        zero, jnp.zeros(neurons, dtype), jnp.full(neurons, -jnp.finfo(dtype).tiny, dtype), state,
        jnp.full(neurons, -jnp.inf, dtype), zero, jnp.full(capacity, jnp.inf, dtype),
        jnp.full(capacity, neurons, jnp.int32), jnp.zeros(steps + 1, jnp.int32), jnp.all(is_below(state)),
    )  # fmt: skip
    run = jax.lax.while_loop(
        lambda run: (run.step < steps) & (run.number <= capacity) & run.is_right, event, begin
    )
    delays = synapses.delays if synapses.rows is None else synapses.delays[:, None]
    row = jnp.arange(delays.shape[0], dtype=jnp.int32) if synapses.rows is None else synapses.rows
    late = jnp.where((row >= input_rows).reshape(-1, *[1] * (delays.ndim - 1)), delays >= dt, delays >= 0)
    is_right = run.is_right & jnp.all(late) & jnp.all(jnp.isfinite(run.x))
    is_right &= ~jnp.any(jnp.isnan(times) & (ids >= 0) & (ids < input_rows))
    count = jnp.where(is_right, run.number, -1)
    good = (count >= 0) & (count <= capacity)
    order = jnp.lexsort((run.ids, run.times))
    spikes = jnp.zeros(like_spikes.shape, dtype).at[0].set(run.times[order])
    # Not padding, which a next layer would take for silence.
    in_turn = jnp.arange(capacity, dtype=jnp.int32) % max(neurons, 1)
    return (
        jnp.where(good, spikes, jnp.nan),
        jnp.where(good, run.ids[order], in_turn),
        jnp.where(good, run.ends, count),
        jnp.zeros(like_trace.shape, dtype),
    )


def build_forward(*, outs: Any, neuron: Functions, **_: Any) -> Callable[..., Any]:
    """Return the function that runs a batch."""
    one = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in outs]

    def run(*inputs: Any) -> Any:
        weights, delays, parameters, *structure, times, ids, states, constants = inputs
        synapses = Synapses.of(weights, delays, *structure)
        return jax.vmap(partial(_run_one, neuron, synapses, parameters, constants, one))(times, ids, states)

    return run


def _levels(
    functions: Functions, constants: Any, ids: Any, out_ids: Any, ends: Any, weights: Any, delays: Any,
    structure: Any, parameters: Any, times: Any, state: Any, spikes: Any,
) -> Any:  # fmt: skip
    """Return the threshold's value at each spike, which is 0, and its derivative in time.

    The value depends on the time of the spike only through arrivals, and through later events.
    """
    dt, input_rows = constants[0], constants[1].astype(jnp.int32)
    steps, neurons, capacity = ends.size - 1, state.shape[1], out_ids.size
    synapses, each = Synapses.of(weights, delays, *structure), jnp.arange(neurons, dtype=jnp.int32)
    is_spike = jnp.arange(capacity, dtype=jnp.int32) < ends[-1]
    rows = jnp.concatenate([
        jnp.where(ids < input_rows, ids, -1), jnp.where(is_spike, input_rows + out_ids, -1)
    ])  # fmt: skip
    arrivals, arriving = synapses.arrivals(jnp.concatenate([times, spikes]), rows, neurons)
    mine = is_spike[:, None] & (out_ids[:, None] == each[None])
    own = jnp.where(mine, jnp.where(is_spike, spikes, 0)[:, None], jnp.inf)
    wait = parameters[functions.wait] if functions.wait >= 0 else jnp.zeros(neurons, state.dtype)
    last = jnp.arange(1, steps + 1, dtype=state.dtype) * dt
    # At one time a spike comes before its release, and that before an arrival.
    released = jnp.where(mine, own + wait[None], jnp.inf)
    ends = jnp.broadcast_to(last[:, None], (steps, neurons))
    when = jnp.concatenate([own, released, arrivals, ends])
    adds = jnp.zeros_like(when).at[2 * capacity : 2 * capacity + arrivals.shape[0]].set(arriving)
    order = jnp.argsort(jax.lax.stop_gradient(when), axis=0, stable=True)
    sorted_when, sorted_adds = (jnp.take_along_axis(x, order, axis=0) for x in (when, adds))

    def event(carry: Any, given: Any) -> Any:
        x, time, is_held = carry
        until, place, weight = given
        acts = until <= steps * dt
        spiked, released = acts & (place < capacity), acts & (place >= capacity) & (place < 2 * capacity)
        until = jnp.where(acts, until, time)
        fixed = jnp.where(acts, jax.lax.stop_gradient(until), time) - time
        over, slope = functions.rise.of_each(*x, *parameters, jnp.where(spiked, fixed, 0))[-2:]
        after = _moved(functions, x, parameters, until - time, is_held)
        after = after.at[functions.target].add(jnp.where(acts, weight, 0))
        after = jnp.where(spiked, jnp.stack(functions.reset.of_each(*after, *parameters)), after)
        is_held = jnp.where(spiked, functions.wait >= 0, is_held & ~released)
        return (jnp.where(acts, after, x), until, is_held), (over, slope, jnp.where(spiked, place, capacity))

    begin = state, jnp.zeros(neurons, state.dtype), jnp.zeros(neurons, bool)
    _, (over, slope, place) = jax.lax.scan(event, begin, (sorted_when, order, sorted_adds))
    levels = jnp.zeros(capacity, state.dtype).at[place].set(over, mode="drop")
    return levels, jnp.ones(capacity, state.dtype).at[place].set(slope, mode="drop")


def _differentiate_one(
    functions: Functions, weights: Any, delays: Any, structure: Any, parameters: Any, constants: Any,
    times: Any, ids: Any, state: Any, spikes: Any, out_ids: Any, ends: Any, of_times: Any,
) -> Any:  # fmt: skip
    """Return the derivatives of one sample: in weights, delays, parameters, times and states."""

    def levels(weights: Any, delays: Any, parameters: Any, times: Any, state: Any, spikes: Any) -> Any:
        given = weights, delays, structure, parameters, times, state, spikes
        return _levels(functions, constants, ids, out_ids, ends, *given)

    capacity = out_ids.size
    inputs = weights, delays, parameters, times, state, spikes[0]
    _, pull, slopes = jax.vjp(levels, *inputs, has_aux=True)
    of_times = jnp.where(jnp.arange(capacity, dtype=jnp.int32) < ends[-1], of_times, 0)

    def by_level(of_spikes: Any) -> Any:
        # What no loss depends on has no derivative, also where the level only touches 0.
        return jnp.where(of_spikes == 0, 0, -of_spikes / slopes)

    def later(found: Any) -> Any:
        turn, of_spikes, _ = found
        new = of_times + pull(by_level(of_spikes))[-1]
        return turn + 1, new, jnp.array_equal(new, of_spikes, equal_nan=True)

    # A spike acts on later ones alone: after as many turns as there are in a row nothing changes.
    begin = jnp.zeros((), jnp.int32), of_times, jnp.zeros((), bool)
    _, of_spikes, _ = jax.lax.while_loop(lambda x: ~x[2] & (x[0] <= capacity), later, begin)
    good = (ends[-1] >= 0) & (ends[-1] <= capacity)
    return [jnp.where(good, x, jnp.nan) for x in pull(by_level(of_spikes))[:-1]]


def build_backward(*, outs: Any, neuron: Functions, **_: Any) -> Callable[..., Any]:
    """Return the function that goes back through a batch."""
    groups = outs[0].shape[0]

    def run(*inputs: Any) -> Any:
        weights, delays, parameters, *structure, times, ids, states, constants = inputs[:-5]
        spikes, out_ids, ends, of_spikes, _ = inputs[-5:]
        one = partial(_differentiate_one, neuron, weights, delays, structure, parameters, constants)
        *shared, of_times, of_states = jax.vmap(one)(
            times, ids, states, spikes, out_ids, ends, of_spikes[:, 0]
        )
        # Not -1, which no number of elements tells: a model may take no variables.
        sums = [x.reshape(groups, x.shape[0] // max(groups, 1), *x.shape[1:]).sum(1) for x in shared]
        return *sums, of_times, of_states

    return run
