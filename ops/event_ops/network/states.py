"""The state of a network between runs, and the record of a run."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from event_ops.checks.arrays import is_known
from event_ops.sparse.pytree import register


class State(NamedTuple):
    """Hold all that a run changes, so that a run of the result goes on where the last one ended.

    A pytree, which any library keeps; `Network.state` makes the first one.
    """

    neurons: dict[str, Any]
    """Name -> (size,), each state of the neurons; of several populations, name -> such a dictionary."""

    history: Any
    """uint32 (slots, ceil(size / 32)), the spikes of step t as bits in row t % slots; of several
    populations, a dictionary of them."""

    step: jax.Array
    """int32 0-d, the number of the next step; it counts to 2**31, 59 h of 0.1 ms. A traced one below 0
    counts as 0."""

    seed: jax.Array
    """uint32 0-d, of Poisson inputs and of noise."""

    synapses: tuple[dict[str, jax.Array], ...] = ()
    """For each projection a dictionary, which is empty unless it learns: "w", (nse,), its weights in the
    order of its matrix, and its traces by name, (neurons of their side,). () where none learns."""


@dataclass(frozen=True, eq=False)
class Recording:
    """Hold the record of one run.

    Attributes:
        times: int32 (capacity,), the step of each spike, in order; -1 behind the last.
        ids: int32 (capacity,), its neuron, ascending within a step; populations count on in their order. The
            number of all neurons behind the last.
        num_spikes: int32 0-d, of all spikes of the run, with those that had no room; at most 2**31 - 1.
        states: name -> (steps // every, ids), in the structure of `Record`.
    """

    times: jax.Array
    ids: jax.Array
    num_spikes: jax.Array
    states: dict[str, Any]

    @property
    def spikes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (times, ids) without the padding.

        Raises ValueError if there were more than had room, or in a function that is traced.
        """
        if not is_known(self.num_spikes):
            raise ValueError("spikes have no known number here; use times, ids and num_spikes")
        if np.ndim(self.num_spikes):
            raise ValueError("this is a batch of recordings; use times, ids and num_spikes of each")
        count, room = int(self.num_spikes), self.ids.shape[0]
        if count > room:
            raise ValueError(
                f"there were {count} spikes, and Record(spikes={room}) has room for the first {room}, which "
                "times and ids hold; make it larger, or run fewer steps at a time"
            )
        return np.asarray(self.times)[:count], np.asarray(self.ids)[:count]


register(Recording, ("times", "ids", "num_spikes", "states"), (), "event_ops.network.Recording")
