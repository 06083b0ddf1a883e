"""The network over several devices: each has a block of the neurons, and the synapses onto them.

A step communicates who spiked, and nothing else: one all-gather of a bit per neuron. Each device draws the
background of all neurons and keeps that of its own, and draws only the synapses onto its own, so that the
spikes are those of one device.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numba
import numpy as np
from jax.sharding import PartitionSpec as P

from event_ops_harness.networks.microcircuit.connectivity import Drawing, Synapses, connect, source_ends
from event_ops_harness.networks.microcircuit.network import State, Wiring
from event_ops_harness.networks.shared.blocks import AXIS, EqualBlocks


def is_synapses(x: Any) -> bool:
    return isinstance(x, Synapses)


def spec_of(x: Any) -> Any:
    """Split synapses, which have a row for each device; copy all the rest to all devices."""
    return Synapses._make([P(AXIS)] * len(x)) if is_synapses(x) else P()


def tell(on_progress: Callable[[int], None], before: int, scale: float, done: int) -> None:
    """Report the progress of one part of the work, `done`, as that of all."""
    on_progress(round((before + done) * scale))


class Blocks(EqualBlocks):
    """Draw the synapses of each block where it is."""

    def split(self, state: State, wiring: Wiring) -> tuple[Any, Any]:
        """Return how state and wiring are split; all devices share the spikes and the number of the step."""
        pending = P(None, AXIS) if isinstance(wiring.recurrent, Drawing) else P()
        neurons = {"V_m": P(AXIS), "refractory": P(AXIS), "I_syn": P(AXIS), "pending": pending}
        states: Any = State._make([P()] * len(state))
        return states._replace(**neurons), jax.tree.map(spec_of, wiring, is_leaf=is_synapses)

    def local(self, wiring: Wiring) -> Wiring:
        recurrent, thalamic = map(self._onto_block, (wiring.recurrent, wiring.thalamic))
        return wiring._replace(recurrent=recurrent, thalamic=thalamic)

    def _onto_block(self, synapses: Synapses | Drawing | None) -> Any:
        if isinstance(synapses, Drawing):
            return synapses._replace(first=self.first)
        return jax.tree.map(lambda x: x[0], synapses)

    def connect(self, drawn: Drawing, on_progress: Callable[[int], None] = lambda done: None) -> Synapses:
        """Draw the synapses onto each block in the process that has it, with equal room for each block."""
        drawings = [drawn._replace(first=np.array(k * self.size, np.int32)) for k in range(self.devices)]
        whole = np.array([0, self.size], np.int32)
        # Of all blocks, also those of other processes: all get the room of the largest.
        counts = [int(source_ends(drawing, whole)[-1, -1]) for drawing in drawings]
        # Devices of one process share its threads.
        split = max(1, numba.get_num_threads() // len(self.here))
        total, done, blocks = sum(counts[k] for k in self.here), 0, []
        for k in self.here:
            on_part = partial(tell, on_progress, done, drawn.synapses / max(1, total))
            blocks.append(connect(drawings[k], self.size, on_part, parts=split, room=max(counts)))
            done += counts[k]
        return Synapses(*map(self.stacked, zip(*blocks, strict=True)))
