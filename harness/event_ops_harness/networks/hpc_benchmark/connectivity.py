"""Who projects to whom: each neuron has the same number of inputs, from sources drawn with replacement."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark


class Wires(NamedTuple):
    """Hold synapses in the order of their sources, and where each is in that of their targets."""

    targets: np.ndarray  # int32 (synapses,), by source
    indptr: np.ndarray  # int32 (N + 1,): where the synapses of each source begin
    sources: np.ndarray  # int32 (synapses,), by target
    indptr_in: np.ndarray  # int32 (N + 1,): where the synapses of each target begin
    permutation: np.ndarray  # int32 (synapses,): where in the first order each synapse of the second is


def connect(neurons: int, sources: range, targets: range, inputs: int, rng: np.random.Generator) -> Wires:
    """Draw `inputs` sources for each target, no neuron its own; the matrix has all neurons on both sides."""
    own = np.array([sources.index(j) if j in sources else len(sources) for j in targets])[:, None]
    others = len(sources) - (own < len(sources))
    drawn = rng.integers(others, size=(len(targets), inputs), dtype=np.uint16)
    drawn += drawn >= own
    drawn.sort(axis=1)
    by_target = drawn.ravel().astype(np.int32) + np.int32(sources.start)
    first = np.zeros(neurons + 1, np.int32)
    first[targets.start + 1 :] = inputs * np.minimum(np.arange(1, neurons - targets.start + 1), len(targets))
    places = np.arange(by_target.size, dtype=np.int32)
    shape = neurons, neurons
    by_source: Any = scipy.sparse.csc_array((places, by_target, first), shape=shape).tocsr()
    permutation = np.empty_like(places)
    permutation[by_source.data] = places
    return Wires(by_source.indices, by_source.indptr, by_target, first, permutation)


def drawn_network(model: HpcBenchmark, seed: int) -> tuple[Wires, Wires, Wires]:
    """Return the synapses between excitatory neurons, those from them to inhibitory ones, the inhibitory."""
    rng, n = np.random.default_rng(seed), model.neurons
    ex, inh, every = range(model.excitatory), range(model.excitatory, n), range(n)
    counts = model.excitatory, model.excitatory, model.inhibitory
    ends = (ex, ex), (ex, inh), (inh, every)
    return tuple(connect(n, *pair, count, rng) for pair, count in zip(ends, counts, strict=True))  # type: ignore
