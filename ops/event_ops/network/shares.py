"""How the steps of a run are shared by threads on the CPU: into how many shares, and which neurons each has.

A share steps its own range of the neurons and adds up what arrives there, in the order in which one thread
does, so that the bits of a run do not depend on the number of threads.
"""

from typing import Any, Final

import jax
import numpy as np

from event_ops.network.layout import Layout
from event_ops.network.plan import Plan
from event_ops.neurons.numba_cpu import operations_of
from event_ops.sparse.compact import CompactCSR

# Of fewer operations, some 6 us, two threads of one core, which compute 1.2 times as much as one, make a step
# longer: a tenth of the microcircuit 1.2 times. A neuron's Poisson number takes as long as so many
# operations; 8 synapses, few of which get a spike in a step, as long as one: both measured there.
OPERATIONS_A_SHARE: Final = 1 << 20
_OPERATIONS_A_NUMBER: Final = 80
_SYNAPSES_AN_OPERATION: Final = 8


def most_shares(network: Any, plan: Plan) -> int:
    """Return how many shares a step has at most, so that each is worth a thread."""
    sizes = [population.size for population in network.populations]
    each = [operations_of(part.neuron, part.noise) for part in plan.populations]
    operations = sum(size * cost for size, cost in zip(sizes, each, strict=True))
    operations += sum(_OPERATIONS_A_NUMBER * sizes[x.population] * len(x.inputs) for x in plan.sums)
    synapses = (part.A.size if isinstance(part.A, jax.Array) else part.A.nse for part in network.projections)
    operations += sum(synapses) // _SYNAPSES_AN_OPERATION
    return max(1, operations // OPERATIONS_A_SHARE)


def share_arrays(network: Any, arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return name -> array that shares read, beside the arrays of the plan.

    starts: where a population is divided, as its matrix of most parts is; ages: the delays of the rows of a
    neuron, with -1 for rows that are empty.
    """
    layout: Layout = network.layout
    added: dict[str, np.ndarray] = {}
    for number, (name, population) in enumerate(layout.populations.items()):
        starts = [np.array([0, population.size], np.int32)]
        for place, part in enumerate(network.projections):
            if part.target == name and isinstance(part.A, CompactCSR):
                starts.append(np.asarray(arrays[f"matrix{place}_3"], np.int32))
        added[f"starts{number}"] = max(starts, key=len)
    for place, part in enumerate(network.projections):
        ages = np.array(part.ages, np.int32)
        added[f"ages{place}"] = np.where(ages < part.min_delay, np.int32(-1), ages)
    return added
