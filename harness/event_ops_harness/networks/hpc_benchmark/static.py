"""The network with static synapses, in blocks of neurons that exchange their spikes once per delay.

Each block has the synapses onto its neurons, which are drawn where it is. All have one delay of d steps, so
that what arrives in d steps is known before the first of them: a block goes through them alone, lists who
spiked, and then all blocks exchange their lists. The spikes are the same for any number of blocks.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.sparse
from jax.sharding import PartitionSpec as P

import event_ops
from event_ops import network
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import NEURON, first_potentials, neuron_parameters
from event_ops_harness.networks.shared.blocks import AXIS, EqualBlocks, placed
from event_ops_harness.networks.shared.processes import DevicesError
from event_ops_harness.networks.shared.simulation import SpikesLostError

MAX_SYNAPSES = np.iinfo(np.int32).max


class State(NamedTuple):
    V_m: jax.Array  # float32 (neurons of all blocks,), mV
    current: jax.Array  # float32 (neurons of all blocks,), pA
    rise: jax.Array  # float32 (neurons of all blocks,), pA/ms
    refractory: jax.Array  # float32 (neurons of all blocks,), ms left
    travelling: jax.Array  # int32 (delay, capacity), who spiked in each of the last steps
    t: jax.Array  # int32 0-d, steps done


class Synapses(NamedTuple):
    entries: jax.Array  # uint16 (blocks, synapses onto a block), the target of each, by source
    indptr: jax.Array  # int32 (blocks, N + 1)
    scale: jax.Array  # float32 (N,), pA, the weight of each source


class Lists(NamedTuple):
    """Hold who spiked, in intervals of a delay each."""

    ids: jax.Array  # int32 (intervals, delay, capacity)
    counts: jax.Array  # int32 (intervals, delay)
    lost: jax.Array  # int32 (intervals,), spikes for which a list had no room


STATE: Any = State._make([P(AXIS)] * 4 + [P()] * 2)  # how the arrays are split
SYNAPSES: Any = Synapses._make([P(AXIS), P(AXIS), P()])


def capacity_of(neurons: int) -> int:
    """Return how many spikes of one step are listed: the network has bursts, of one neuron in twenty."""
    return max(256, neurons // 8)


def sources_of(model: HpcBenchmark, seed: int, target: int) -> np.ndarray:
    """Draw (N,), int32: as many excitatory sources as there are, then inhibitory ones, never the target."""
    # A generator for each target: any division into blocks draws the same synapses.
    rng, by_population = np.random.default_rng([seed, 2, target]), []
    for low, high in ((0, model.excitatory), (model.excitatory, model.neurons)):
        inside = low <= target < high
        drawn = rng.integers(low, high - inside, size=high - low, dtype=np.int32)
        by_population.append(drawn + (inside & (drawn >= target)))
    return np.concatenate(by_population)


def synapses_onto(model: HpcBenchmark, seed: int, first: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return entries and indptr of a block of neurons, the synapses by source; its idle neurons have none."""
    n = model.neurons
    targets = range(first, min(first + size, n))
    drawn = np.empty((len(targets), n), np.int32)
    for row, target in zip(drawn, targets, strict=True):
        row[:] = sources_of(model, seed, target)
    ends = n * np.minimum(np.arange(size + 1, dtype=np.int32), len(targets))
    no_data = np.empty(drawn.size, np.bool)
    by_source: Any = scipy.sparse.csc_array((no_data, drawn.reshape(-1), ends), shape=(n, size)).tocsr()
    entries = np.zeros(size * n, np.uint16)  # with more targets MAX_SYNAPSES would be exceeded
    entries[: drawn.size] = by_source.indices
    return entries, by_source.indptr


def connect(model: HpcBenchmark, seed: int, blocks: EqualBlocks) -> Synapses:
    """Draw the synapses onto each block in the process that has it.

    Raise DevicesError if int32 cannot count those of a block.
    """
    if blocks.size * model.neurons > MAX_SYNAPSES:
        raise DevicesError(
            f"a block has {blocks.size * model.neurons} synapses; expected at most {MAX_SYNAPSES}, "
            "which int32 can count: use more devices"
        )
    drawn = [synapses_onto(model, seed, k * blocks.size, blocks.size) for k in blocks.here]
    entries, indptr = map(blocks.stacked, zip(*drawn, strict=True))
    return Synapses(entries, indptr, placed(weights_of(model), blocks.mesh, P()))


def weights_of(model: HpcBenchmark) -> np.ndarray:
    """Return (N,), float32, in pA, the weight of the synapses of each source."""
    weights = np.full(model.neurons, model.weight, np.float32)
    weights[model.excitatory :] *= model.g
    return weights


def first_state(model: HpcBenchmark, seed: int, blocks: EqualBlocks) -> State:
    """Draw the potentials; nothing is on its way. Idle neurons are never excited enough."""
    V_m = np.pad(first_potentials(model, seed), (0, blocks.idle), constant_values=-np.inf)
    zeros, lists = np.zeros_like(V_m), (model.delay_steps, capacity_of(model.neurons))
    nobody = np.full(lists, model.neurons, np.int32)
    arrays = V_m, zeros, zeros, zeros, nobody, np.int32(0)
    return State._make(placed(x, blocks.mesh, spec) for x, spec in zip(arrays, STATE, strict=True))


def interval_of(
    model: HpcBenchmark, seed: int, blocks: EqualBlocks
) -> Callable[[State, Synapses], tuple[State, Lists]]:
    """Return `delay` steps of one block, and then the exchange."""
    n, size = model.neurons, blocks.size
    move = partial(NEURON, **neuron_parameters(model))
    arrivals = partial(event_ops.compact_event_arrivals, shape=(n, size), encoding="ids", slot=0)
    drive = {"mean": model.rate_outside * model.dt * 1e-3, "weight": np.float32(model.weight), "seed": seed}
    outside = partial(event_ops.poisson_input, **drive, initial=np.zeros(size, np.float32))
    compact = partial(event_ops.spike_compact, capacity=capacity_of(size))
    rooms = {"neurons": n, "message": capacity_of(size), "capacity": capacity_of(n)}

    def interval(state: State, synapses: Synapses) -> tuple[State, Lists]:
        def step(carry: Any, sent: jax.Array) -> tuple[Any, tuple[jax.Array, jax.Array]]:
            *membrane, t = carry
            # By the number of the block's first neuron the input is that of one device.
            arrived = arrivals(sent[None], *synapses, initial=outside(step=t, first=blocks.first))
            *membrane, spikes = move(*membrane, arrived=arrived)
            return (*membrane, t + 1), compact(spikes)

        carry = (*state[:4], state.t)
        (*membrane, t), (ids, counts) = jax.lax.scan(step, carry, state.travelling)
        ids, counts, lost = event_ops.exchange_spikes(ids, counts, AXIS, first=blocks.first, **rooms)
        return State._make([*membrane, ids, t]), Lists(ids, counts, lost)

    return interval


def compile_intervals(
    model: HpcBenchmark, seed: int, blocks: EqualBlocks, arguments: tuple[State, Synapses], intervals: int
) -> Callable[[State, Synapses], tuple[State, Lists]]:
    """Compile `intervals` intervals over all blocks; the state is updated in place."""
    interval = interval_of(model, seed, blocks)

    def run(state: State, synapses: Synapses) -> tuple[State, Lists]:
        of_block = Synapses(synapses.entries[0], synapses.indptr[0], synapses.scale)
        return jax.lax.scan(lambda state, _: interval(state, of_block), state, length=intervals)

    specs = {"in_specs": (STATE, SYNAPSES), "out_specs": (STATE, P())}
    # Lists are the same on all devices, which JAX cannot know of an all-gather's result.
    everywhere = jax.shard_map(run, mesh=blocks.mesh, **specs, check_vma=False)
    return jax.jit(everywhere, donate_argnums=0).lower(*arguments).compile()


def matrix_of(model: HpcBenchmark, seed: int) -> event_ops.CompactCSR:
    """Draw all synapses on the host, in one block."""
    n, (entries, indptr) = model.neurons, synapses_onto(model, seed, 0, model.neurons)
    return event_ops.CompactCSR(entries, indptr, weights_of(model), shape=(n, n))


def declared(
    model: HpcBenchmark, A: event_ops.CompactCSR, record: network.Record | None = None
) -> network.Network:
    """Return the network of these synapses as a declaration, whose run is one call."""
    outside = network.PoissonInput(
        "arrived", weight=np.float32(model.weight), mean=model.rate_outside * model.dt * 1e-3
    )
    projection = network.Projection(A, "arrived", delay=model.delay_steps)
    return network.Network(
        network.Population(model.neurons, NEURON, **neuron_parameters(model)), [projection], [outside], record
    )


def check_lists(lists: Lists) -> None:
    """Raise SpikesLostError if a list had no room for some spikes."""
    lost = np.asarray(lists.lost)
    if lost.any():
        k = int(np.argmax(lost > 0))
        raise SpikesLostError(
            f"{lost[k]} spikes of interval {k}, which has {int(lists.counts[k].sum())}, are in no list; "
            "raise capacity_of"
        )
