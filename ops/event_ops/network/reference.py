"""A run of a network as a scan over operators of the catalog: the definition."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.compact_event_arrivals.op import compact_event_arrivals
from event_ops.catalog.csr_event_arrivals.op import csr_event_arrivals
from event_ops.catalog.dense_event_matvec.op import dense_event_matvec
from event_ops.catalog.pack_events.op import pack_events
from event_ops.catalog.spike_compact.op import spike_compact
from event_ops.catalog.unpack_events.op import unpack_events
from event_ops.kernels.reference.spiking import as_ones
from event_ops.network.inputs import Given
from event_ops.network.layout import Arrivals, Layout, empty_receptors, float_of
from event_ops.network.learning import Synapses, fired, learned
from event_ops.network.parts import SPIKES
from event_ops.network.projections import Projection
from event_ops.network.states import State
from event_ops.sparse.compact import CompactCSR

_MOST = np.iinfo(np.int32).max
Spikes = Mapping[str, jax.Array]


class Log(NamedTuple):
    """Hold the list of spikes, with room behind it for one step, and their number."""

    times: jax.Array
    ids: jax.Array
    found: jax.Array


class Carry(NamedTuple):
    """Hold the values that a step of the scan changes.

    The history of a population with a surrogate holds its spikes as numbers, through which derivatives pass;
    counts: of the spikes that are recorded, since the last row.
    """

    neurons: dict[str, dict[str, jax.Array]]
    history: dict[str, jax.Array]
    counts: dict[str, jax.Array]
    synapses: list[Synapses]
    step: jax.Array
    log: Log


def noise_of(layout: Layout, name: str, state_seed: jax.Array, step: jax.Array) -> dict[str, Any]:
    """Return seed, step and first by name for a model with noise."""
    words = {"seed": state_seed, "step": step, "first": layout.first[name]}
    return {key: words[key] for key in layout.populations[name].drawn}


def sums_of(arrivals: Arrivals, carry: Carry, given: Given, sums: jax.Array) -> jax.Array:
    """Return the sums with the arrivals of this step added; the carry has the synapses after it."""
    for place, part in arrivals.inputs:
        sums = part.add(sums, place, carry.step, given)
    for place, part in arrivals.projections:
        sent, step = carry.history[part.source], carry.step
        if part.plasticity is None:
            sums = _delivered(part, sent, step, sums)
        else:
            back, synapses = carry.history[part.target], carry.synapses
            sums, synapses[place] = learned(part, synapses[place], sent, back, step, sums)
    return sums


def _delivered(part: Projection, history: jax.Array, step: jax.Array, sums: jax.Array) -> jax.Array:
    """Return the sums with the spikes added that arrive in this step."""
    A, slots, ages = part.A, history.shape[0], np.asarray(part.ages, np.int32)
    if isinstance(A, jax.Array):
        return sums + dense_event_matvec(
            A, fired(history, step - part.ages[0], part.shape[0]), transpose=True
        )
    # As a history of the projection's own has them, so that sums do not depend on that of other projections.
    turned = jnp.asarray(ages)[(np.arange(ages.size, dtype=np.int32) - step) % ages.size]
    recent = history if ages.size == slots else history[(step % slots + slots - turned) % slots]
    encoding = "bits" if recent.dtype == np.uint32 else "flags"
    how: Any = {"shape": part.shape, "initial": sums, "encoding": encoding}
    if isinstance(A, CompactCSR):
        entries, ends, scale = part.words
        return compact_event_arrivals(recent, entries, ends, scale, step, **how)
    return csr_event_arrivals(recent, A.data, A.indices, A.indptr, step, **how)


def stepped(layout: Layout, carry: Carry, inputs: Given) -> tuple[Carry, dict[str, jax.Array]]:
    """Return the carry after a step but for the list, and the spikes."""
    carry = carry._replace(synapses=list(carry.synapses))  # in which they are replaced
    variables: dict[str, dict[str, jax.Array]] = {name: {} for name in layout.populations}
    for arrivals in layout.arrivals:
        target, receptor = arrivals.target, arrivals.receptor
        states = carry.neurons[target]
        if receptor not in states:
            nothing = jnp.zeros(layout.populations[target].size, float_of(states))
            variables[target][receptor] = sums_of(arrivals, carry, inputs, nothing)
    neurons, history, spikes = {}, {}, {}
    for name, population in layout.populations.items():
        given = variables[name] | noise_of(layout, name, inputs.seed, carry.step)
        neurons[name], spikes[name] = population.step(carry.neurons[name], given)
        if spikes[name].dtype != bool:  # a run that goes on has bits of them
            spikes[name] = as_ones(spikes[name])
        row, now = carry.step % layout.slots[name], spikes[name]
        sent = pack_events(now) if now.dtype == bool else now
        history[name] = carry.history[name].at[row].set(sent)
    carry = carry._replace(neurons=neurons, history=history)
    for arrivals in layout.arrivals:
        states = neurons[arrivals.target]
        if arrivals.receptor in states:
            states[arrivals.receptor] = sums_of(arrivals, carry, inputs, states[arrivals.receptor])
    return carry, spikes


def logged(layout: Layout, log: Log, spikes: Spikes, step: jax.Array) -> Log:
    """Return the list with the spikes of a step at its end, as many as have room."""
    times, ids, count = log.times, log.ids, log.found
    # Behind the places of the record there is room for a step's ids: what has no room is written there.
    room = ids.shape[0] - max(x.size for x in layout.populations.values())
    for name, population in layout.populations.items():
        listed, number = spike_compact(spikes[name].astype(bool))
        behind = jnp.minimum(count, room)
        if room:
            listed, now = listed + np.int32(layout.first[name]), jnp.full(population.size, step)
            ids = jax.lax.dynamic_update_slice_in_dim(ids, listed, behind, 0)
            times = jax.lax.dynamic_update_slice_in_dim(times, now, behind, 0)
        count = count + jnp.minimum(number, _MOST - count)
    return Log(times, ids, count)


def traces_of(network: Any, carry: Carry) -> dict[str, Any]:
    """Return the recorded states, and counts of spikes."""
    return {
        name: {
            key: carry.neurons[name][key][ids] if key in carry.neurons[name] else carry.counts[name]
            for key, ids in chosen.items()
        }
        for name, chosen in network.layout.named(network.record.states).items()
    }


def _first_counts(layout: Layout, record: Any, neurons: Mapping[str, Any]) -> dict[str, jax.Array]:
    """Return zeros for the neurons whose spikes are counted."""
    return {
        name: jnp.zeros(chosen[SPIKES].shape, float_of(neurons[name]))
        for name, chosen in layout.named(record.states).items()
        if SPIKES in chosen and SPIKES not in neurons[name]
    }


def float_spikes(layout: Layout, state: State) -> dict[str, Any]:
    """Return name -> dtype of the populations whose spikes are numbers, as with a surrogate."""
    neurons = layout.named(state.neurons)

    def spikes() -> dict[str, jax.Array]:
        found = {}
        for name, population in layout.populations.items():
            given = empty_receptors(layout, name, neurons[name]) | noise_of(
                layout, name, state.seed, state.step
            )
            _, found[name] = population.step(neurons[name], given)
        return found

    return {name: x.dtype for name, x in jax.eval_shape(spikes).items() if x.dtype != bool}


def run(network: Any, state: State, values: Mapping[str, jax.Array], steps: int) -> Any:
    """Return the states, the histories, the synapses, and the record."""
    layout, record = network.layout, network.record
    inputs = Given(state.seed, state.step, steps, values)
    room = record.spikes + max(x.size for x in layout.populations.values())
    at_once = record.every if record.states else steps  # a row of no states at the end
    log = Log(jnp.full(room, -1, jnp.int32), jnp.full(room, layout.total, jnp.int32), jnp.int32(0))
    neurons, history = layout.named(state.neurons), layout.named(state.history)
    chosen = layout.named(record.states)
    numbers, first_counts = float_spikes(layout, state), _first_counts(layout, record, neurons)
    for name, dtype in numbers.items():
        unpack = partial(unpack_events, n=layout.populations[name].size)
        history[name] = jax.vmap(unpack)(history[name]).astype(dtype)
    begin = Carry(neurons, history, first_counts, list(state.synapses), state.step, log)

    def one_step(carry: Carry, _: None) -> tuple[Carry, None]:
        after, spikes = stepped(layout, carry, inputs)
        counts = {
            name: number + spikes[name][chosen[name][SPIKES]].astype(number.dtype)
            for name, number in carry.counts.items()
        }
        log = logged(layout, carry.log, spikes, carry.step)
        return after._replace(step=carry.step + 1, counts=counts, log=log), None

    def one_row(carry: Carry, _: None) -> tuple[Carry, Any]:
        carry, _ = jax.lax.scan(one_step, carry._replace(counts=first_counts), length=at_once)
        return carry, traces_of(network, carry)

    end, traces = jax.lax.scan(one_row, begin, length=steps // at_once)
    bits = {
        name: jax.vmap(pack_events)(x.astype(bool)) if name in numbers else x
        for name, x in end.history.items()
    }
    listed = jnp.arange(record.spikes, dtype=np.int32) < end.log.found
    times = jnp.where(listed, end.log.times[: record.spikes], -1)
    ids = jnp.where(listed, end.log.ids[: record.spikes], layout.total)
    recorded = times, ids, end.log.found, layout.nested(traces)
    return layout.nested(end.neurons), layout.nested(bits), tuple(end.synapses), recorded


def build(*, tree: Any, steps: int, **_: Any) -> Callable[..., Any]:
    """Return the function of the leaves of a network, a state, and values of inputs."""

    def call(*leaves: Any) -> Any:
        network, state, values = jax.tree.unflatten(tree, leaves)
        return run(network, state, values, steps)

    return call
