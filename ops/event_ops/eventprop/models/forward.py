"""A sample forwards: steps of blocks of neurons, with exact times of their spikes."""

import math
from typing import Any

import numpy as np

from event_ops.eventprop.arrivals import Sample, enlist_inputs, enlist_outputs, new_chains
from event_ops.eventprop.forward import Record, sort_spikes
from event_ops.eventprop.models.blocks import ROOM, Places, new_blocks
from event_ops.eventprop.models.emitted import Emitted
from event_ops.eventprop.models.passing import Segments, make_through, new_tape
from event_ops.kernels.numba_cpu.jit import njit


def make_simulate(
    functions: Emitted, places: Places, target: int, wait: int, states: int, begin: Any, arrive: Any
) -> Any:
    """Return the function that runs one sample, with arrivals that `arrive` returns."""
    level, through = functions.level, make_through(functions, places, target, wait, states, is_known=False)

    @njit
    def simulate(synapses: Any, sample: Sample, state: Any, parameters: Any, record: Record) -> Any:
        """Run one sample; return its number of spikes, or -1 where an input or a state cannot be right."""
        p, dt, steps, neurons = sample.levels, float(parameters[0]), record.ends.size - 1, state.shape[1]
        chains = new_chains(steps, sample.times.size + record.times.size)
        x, ids = np.empty((2, states + 2), state.dtype), np.empty(ROOM + 1, np.int32)
        for j in range(neurons):
            for k in range(states):
                x[0, k] = state[k, j]
            level(x[0], p, np.int64(j), x[1])
            if not x[1, 0] < 0:
                return -1
        if not enlist_inputs(chains, sample, synapses.first, dt):
            return -1
        kept, blocks = (
            begin(synapses, chains, sample, neurons, dt),
            new_blocks(state, p, places.parameters, places.cotangents),
        )
        until, none = np.full(neurons, -math.inf), np.empty(neurons, np.int64)
        weights, tape = synapses.weights.reshape(-1), new_tape(1, 0, 0, 0, states, state)
        record.ends[0] = 0
        spikes = np.int64(0)
        for k in range(steps):
            arrivals, count, table = arrive(synapses, kept, chains, sample, neurons, k, dt)
            record.ends[k + 1] = spikes
            of = Segments(arrivals, count, table, weights, none, none, k, dt, chains.following.size)
            for b in range(blocks.shape[0]):
                spikes = through(blocks[b], b * ROOM, p, until, of, record, spikes, tape, x[0], x[1], ids)
                if not 0 <= spikes <= record.times.size:
                    return spikes
            sort_spikes(record, record.ends[k], spikes)
            enlist_outputs(chains, sample, record.ends[k], spikes, synapses.first, k + 1, dt)
            record.ends[k + 1] = spikes
        faults = 0
        for j in range(neurons):
            for k in range(states):
                faults += not np.isfinite(blocks[j // ROOM, k * ROOM + j % ROOM])
        return spikes if faults == 0 else -1

    return simulate
