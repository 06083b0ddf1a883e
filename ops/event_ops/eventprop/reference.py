"""The definition, in pure JAX: from event to event, without a grid, and the derivatives of spikes.

At every event it looks at all arrivals, so it is for small networks alone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp

_HALVINGS: Final = 80  # of a bracket, which is then as small as doubles are


class Neuron(NamedTuple):
    """Hold the time constants of all neurons, and the number of rows of inputs."""

    dt: jax.Array
    input_rows: jax.Array
    tau_m: jax.Array
    tau_syn: jax.Array
    t_ref: jax.Array

    @classmethod
    def of(cls, constants: Any) -> "Neuron":
        """Return the constants of an array that has them in this order."""
        dt, rows, *times = constants
        return cls(dt, rows.astype(jnp.int32), *times)

    def factors(self, x: Any) -> tuple[Any, Any, Any]:
        """Return the factors of V and I after a time x, and that of I in V."""
        rate = 1 / self.tau_m - 1 / self.tau_syn
        grown = jnp.where(rate == 0, x, jnp.expm1(rate * x) / jnp.where(rate == 0, 1, rate))
        of_V = jnp.exp(-x / self.tau_m)
        return of_V, jnp.exp(-x / self.tau_syn), of_V * grown / self.tau_m

    def moved(self, V: Any, I: Any, x: Any) -> tuple[Any, Any]:
        """Return V and I after a time x without events."""
        of_V, of_I, gain = self.factors(x)
        return V * of_V + gain * I, of_I * I

    def slope(self, V: Any, I: Any) -> Any:
        """Return dV/dt, V counted from E_L."""
        return (I - V) / self.tau_m


class Entries(NamedTuple):
    """Hold all synapses: row, column, weight and delay of each."""

    rows: jax.Array
    columns: jax.Array
    weights: jax.Array
    delays: jax.Array

    @classmethod
    def of(cls, weights: Any, delays: Any, indices: Any, indptr: Any) -> "Entries":
        """Return the synapses of dense rows, or of a sparse structure."""
        if weights.ndim == 1:
            rows = jnp.searchsorted(indptr, jnp.arange(indices.size, dtype=indptr.dtype), side="right") - 1
            return cls(rows.astype(jnp.int32), indices, weights, delays)
        rows, columns = (x.reshape(-1) for x in jnp.indices(weights.shape, dtype=jnp.int32))
        return cls(rows, columns, weights.reshape(-1), delays[rows])

    def arrivals(self, times: Any, rows: Any) -> Any:
        """Return when spikes arrive at each synapse, (spikes, entries); inf where they do not."""
        when = times[:, None] + self.delays[None]
        return jnp.where((rows[:, None] == self.rows[None]) & (when >= 0), when, jnp.inf)


def _before_zero(dtype: Any) -> jax.Array:
    """Return a time before 0: one of the numbers that processors do not round to 0."""
    return -jnp.asarray(jnp.finfo(dtype).tiny, dtype)


def bisected(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return where f, which is <= 0 at `low` and > 0 at `high`, changes its sign."""

    def halve(_: int, bracket: Any) -> Any:
        low, high = bracket
        middle = (low + high) / 2
        above = f(middle) > 0
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    return jax.lax.fori_loop(0, _HALVINGS, halve, (low, high))[1]


def _first_crossing(neuron: Neuron, V_th: Any, V: Any, I: Any, length: Any) -> Any:
    """Return when each neuron passes V_th within `length`, or inf."""
    whole, nothing = jnp.full_like(V, length), jnp.zeros_like(V)
    peaks = (neuron.slope(V, I) > 0) & (neuron.slope(*neuron.moved(V, I, length)) < 0)
    top = bisected(lambda x: -neuron.slope(*neuron.moved(V, I, x)), nothing, whole)
    end = jnp.where(peaks, top, whole)
    crosses = neuron.moved(V, I, end)[0] > V_th
    x = bisected(lambda x: neuron.moved(V, I, x)[0] - V_th, nothing, end)
    return jnp.where(crosses, x, jnp.inf)


class Run(NamedTuple):
    """Hold a run under way: time, step, states, number of spikes, and results.

    `held_until`: when refractory neurons are released; -inf of others; `last`: the last spike of each.
    """

    time: jax.Array
    step: jax.Array
    V: jax.Array
    I: jax.Array
    held_until: jax.Array
    last: jax.Array
    number: jax.Array
    spikes: jax.Array
    ids: jax.Array
    ends: jax.Array
    trace: jax.Array


def _run_one(
    entries: Entries, levels: Any, neuron: Neuron, times: Any, ids: Any, state: Any, outs: Any
) -> Any:
    """Return spikes, ids, ends and trace of one sample."""
    _, out_ids, ends, trace = outs
    V_th, V_reset = levels
    neurons, steps, capacity = state.shape[1], ends.shape[0] - 1, out_ids.shape[0]
    given = entries.arrivals(times, jnp.where(ids < neuron.input_rows, ids, -1))
    room = jnp.zeros((3, capacity + 1), times.dtype).at[0].set(jnp.inf)
    zero = jnp.zeros((), jnp.int32)
    never, nobody = jnp.full(neurons, -jnp.inf, times.dtype), jnp.full(capacity + 1, neurons, jnp.int32)
    begin = Run(
        _before_zero(times.dtype), zero, state[0], state[1], never, jnp.zeros(neurons, jnp.int32),
        zero, room, nobody, jnp.zeros(steps + 1, jnp.int32), jnp.zeros((steps, neurons), trace.dtype),
    )  # fmt: skip

    def event(run: Run) -> Run:
        own = entries.arrivals(run.spikes[0], neuron.input_rows + run.ids)
        every = jnp.concatenate([given, own])
        arrival = jnp.min(every, where=every > run.time, initial=jnp.inf)
        end = (run.step + 1).astype(times.dtype) * neuron.dt
        is_held = run.held_until > run.time
        release = jnp.min(run.held_until, where=is_held, initial=jnp.inf)
        limit = jnp.minimum(jnp.minimum(arrival, end), release)
        x = _first_crossing(neuron, V_th, run.V, run.I, limit - run.time)
        x = jnp.where(is_held, jnp.inf, x)
        j = jnp.argmin(x).astype(jnp.int32)
        is_spike = jnp.isfinite(x[j])
        time = jnp.where(is_spike, run.time + x[j], limit)
        free, I = neuron.moved(run.V, run.I, jnp.where(is_spike, x[j], limit - run.time))
        V = jnp.where(is_held, run.V, free)
        place = jnp.where(is_spike, run.number, capacity + 1)
        spikes = run.spikes.at[:, place].set(jnp.stack([time, I[j], I[j]]), mode="drop")
        released = jnp.where(is_held & ~is_spike & (run.held_until == limit), run.last, capacity + 1)
        spikes = spikes.at[2, released].set(I, mode="drop")
        arrived = jnp.sum(jnp.where(every == limit, entries.weights[None], 0), axis=0)
        after_I = jnp.where(is_spike, I, I.at[entries.columns].add(arrived))
        is_reset = is_spike & (jnp.arange(neurons, dtype=jnp.int32) == j)
        after_V = jnp.where(is_reset, V_reset, V)
        ended = ~is_spike & (limit == end)
        step, count = run.step + ended.astype(jnp.int32), run.number + is_spike.astype(jnp.int32)
        row = jnp.where(ended, run.step, steps + 1)
        held_until = jnp.where(is_reset, time + neuron.t_ref, run.held_until)
        last = jnp.where(is_reset, run.number, run.last)
        return Run(
            time, step, after_V, after_I, held_until, last, count, spikes,
            run.ids.at[place].set(j, mode="drop"),
            run.ends.at[row + 1].set(count, mode="drop"), run.trace.at[row].set(after_V, mode="drop"),
        )  # fmt: skip

    run = jax.lax.while_loop(lambda run: (run.step < steps) & (run.number <= capacity), event, begin)
    between = entries.rows >= neuron.input_rows
    is_right = jnp.all(jnp.where(between, entries.delays >= neuron.dt, ~jnp.isnan(entries.delays)))
    is_right &= jnp.all((state[0] < V_th) & (V_reset < V_th) & jnp.isfinite(V_reset))
    is_right &= jnp.isfinite(jnp.sum(run.V + run.I))
    is_right &= ~jnp.any(jnp.isnan(times) & (ids >= 0) & (ids < neuron.input_rows))
    count = jnp.where(is_right, run.number, -1)
    good = (count >= 0) & (count <= capacity)
    # Not padding, which a next layer would take for silence.
    in_turn = jnp.arange(capacity, dtype=jnp.int32) % max(neurons, 1)
    return (
        jnp.where(good, run.spikes[:, :-1], jnp.nan),
        jnp.where(good, run.ids[:-1], in_turn),
        jnp.where(good, run.ends, count),
        jnp.where(good, run.trace[: trace.shape[0]], jnp.nan),
    )


def build_forward(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function that runs a batch."""
    one = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in outs]

    def run(*inputs: Any) -> Any:
        weights, delays, levels, *structure, times, ids, states, constants = inputs
        entries, neuron = Entries.of(weights, delays, *structure), Neuron.of(constants)
        return jax.vmap(lambda when, who, state: _run_one(entries, levels, neuron, when, who, state, one))(
            times, ids, states
        )

    return run


def _differentiate_one(
    entries: Entries, levels: Any, neuron: Neuron, times: Any, ids: Any, spikes: Any, out_ids: Any,
    ends: Any, of_times: Any, of_trace: Any,
) -> Any:  # fmt: skip
    """Return the derivatives of one sample: in weights, delays, levels, times and states."""
    when, current, released = spikes
    neurons = levels.shape[1]
    capacity, count = out_ids.size, ends[-1]
    valid = jnp.arange(capacity, dtype=jnp.int32) < count
    at_ends = jnp.arange(1, of_trace.shape[0] + 1, dtype=when.dtype) * neuron.dt

    def sensitivities(a: Any, j: Any, of_V: Any, of_I: Any) -> tuple[Any, Any]:
        """Return the derivatives in V and I of neuron j right after time a."""
        mine = valid & (out_ids == j)
        later = mine & (when > a)
        until = jnp.min(when, where=later, initial=jnp.inf)
        # V is held up to then, while I decays.
        free = jnp.max(when + neuron.t_ref, where=mine & (when <= a), initial=a)
        kept = jnp.exp((a - free) / neuron.tau_syn)
        p = jnp.argmin(jnp.where(later, when, jnp.inf))
        found = jnp.isfinite(until)
        left_V, left_I, gain = neuron.factors(jnp.where(found, until - free, 0))
        by_V = jnp.where(found & (free == a), left_V * of_V[p], 0)
        by_I = jnp.where(found, kept * (left_I * of_I[p] + gain * of_V[p]), 0)
        if of_trace.shape[0]:
            seen = (at_ends > a) & (at_ends < until)
            left_V, _, gain = neuron.factors(jnp.where(seen, at_ends - a, 0))
            by_V += jnp.sum(jnp.where(seen, left_V * of_trace[:, j], 0))
            by_I += jnp.sum(jnp.where(seen, gain * of_trace[:, j], 0))
        return by_V, by_I

    def of_arrivals(row: Any, time: Any, of_V: Any, of_I: Any) -> tuple[Any, Any]:
        """Return the derivatives in weights and times of arrival of a spike."""
        a = time + entries.delays
        acts = (entries.rows == row) & (a >= 0) & jnp.isfinite(a)
        per_entry = jax.vmap(sensitivities, in_axes=(0, 0, None, None))
        V, I = per_entry(jnp.where(acts, a, 0), entries.columns, of_V, of_I)
        rate = I / neuron.tau_syn - V / neuron.tau_m
        # An infinite weight that nothing depends on has no derivative.
        return jnp.where(acts, I, 0), jnp.where(acts & (rate != 0), entries.weights * rate, 0)

    def before(k: int, found: Any) -> Any:
        """Go from behind a spike to before it, and keep the derivative in V behind it."""
        of_V, of_I, behind = found
        p = count - 1 - jnp.asarray(k, jnp.int32)
        j = out_ids[p]
        V, _ = sensitivities(when[p] + neuron.t_ref, j, of_V, of_I)
        _, I = sensitivities(when[p], j, of_V, of_I)
        _, moving = of_arrivals(neuron.input_rows + j, when[p], of_V, of_I)
        of_time = of_times[p] + jnp.sum(moving) - neuron.slope(levels[1, j], released[p]) * V
        # What no loss depends on has no derivative, also where V only touches V_th.
        of_spike = jnp.where(of_time == 0, 0, -of_time / neuron.slope(levels[0, j], current[p]))
        of_V = of_V.at[p].set(of_spike)
        return of_V, of_I.at[p].set(I), behind.at[p].set(V)

    nothing = jnp.zeros(capacity, when.dtype)
    spiked = jnp.clip(count, 0, capacity)
    of_V, of_I, behind = jax.lax.fori_loop(0, spiked, before, (nothing, nothing, nothing))
    of_levels = jnp.zeros_like(levels).at[:, out_ids].add(jnp.stack([-of_V, behind]), mode="drop")
    rows = jnp.concatenate([ids, jnp.where(valid, neuron.input_rows + out_ids, -1)])
    rows = rows.at[: ids.size].set(jnp.where((ids >= 0) & (ids < neuron.input_rows), ids, -1))
    every = jnp.concatenate([times, when])
    of_weights, moving = jax.lax.map(lambda x: of_arrivals(x[0], x[1], of_V, of_I), (rows, every))
    begin = _before_zero(when.dtype)
    state = jax.vmap(lambda j: sensitivities(begin, j, of_V, of_I))(jnp.arange(neurons, dtype=jnp.int32))
    results = of_weights.sum(0), moving.sum(0), of_levels, moving[: ids.size].sum(1), jnp.stack(state)
    good = (count >= 0) & (count <= capacity)
    return [jnp.where(good, x, jnp.nan) for x in results]


def build_backward(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function that goes back through a batch."""
    like_weights, like_delays, like_levels, _, _ = outs
    groups = like_weights.shape[0]

    def run(*inputs: Any) -> Any:
        weights, delays, levels, *structure, times, ids, _, constants = inputs[:-5]
        spikes, out_ids, ends, of_spikes, of_trace = inputs[-5:]
        entries, neuron = Entries.of(weights, delays, *structure), Neuron.of(constants)

        one = partial(_differentiate_one, entries, levels, neuron)
        shared = jax.vmap(one)(times, ids, spikes, out_ids, ends, of_spikes[:, 0], of_trace)
        *shared, of_times, of_states = shared
        of_weights, of_delays, of_levels = (x.reshape(groups, -1, *x.shape[1:]).sum(1) for x in shared)
        of_weights, of_delays = (x.reshape(like_weights.shape) for x in (of_weights, of_delays))
        if len(like_weights.shape) > len(like_delays.shape):  # one delay for each row
            of_delays = of_delays.sum(2)
        return of_weights, of_delays, of_levels.reshape(like_levels.shape), of_times, of_states

    return run
