"""Blocks of synapses: copied side by side, changed there, and copied back.

A loop that stores to places which it reads elsewhere does not vectorise; one over a block does. A block is
one array for all that a rule reads of a synapse: AT_ONCE values of the first, then as many of the second.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.jit import njit

AT_ONCE: Final = np.uintp(64)


class Change(NamedTuple):
    """Three functions of a rule: of its values at place q of a block, and of synapse k in its arrays."""

    load: Any  # (q, k, neuron, synapses, variables, block)
    change: Any  # (q, shared, variables, block)
    store: Any  # (q, k, synapses, block)


def changing(change: Change, size: int) -> Any:
    """Return the function that makes a block, and the one that changes synapses in it.

    size: how many values of a synapse the block has.
    """
    load, change_one, store = change
    room = AT_ONCE * np.uintp(size)

    @njit
    def empty(synapses: Any) -> Any:
        """Return a block, and the room for places beside it."""
        return np.empty(room, synapses[0].dtype), np.empty((2, AT_ONCE), np.uintp)

    @njit(_nrt=False)
    def run(
        count: Any, shared: Any, synapse_ids: Any, neurons: Any, synapses: Any, variables: Any, block: Any
    ) -> None:
        for q in range(count):
            load(q, synapse_ids[q], np.uintp(neurons[q]), synapses, variables, block)
        for q in range(count):
            change_one(q, shared, variables, block)
        for q in range(count):
            store(q, synapse_ids[q], synapses, block)

    return empty, run
