"""A program: the CUBA network on one and on several CPU devices; run by test_cuba_devices.py.

python cuba_on_devices.py prints, as JSON, what was the same for each number of devices.
"""

import json
import re
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from event_ops_harness.networks.balanced.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.balanced.simulation import recorder_of, simulate
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import catalog_step, initial_state, on_device
from event_ops_harness.networks.cuba.sharded import Blocks
from event_ops_harness.networks.shared.blocks import mesh_of
from event_ops_harness.networks.shared.processes import prepare_devices
from event_ops_harness.networks.shared.simulation import Recording, compile_chunk

MODEL, NEURONS, SEED, STEPS = CubaParameters(), 403, 3, 1200
DEVICES = (1, 3, 8)


def with_weights(connectivity: Connectivity) -> Connectivity:
    """A weight per synapse, in mV."""
    scale = np.where(connectivity.indices < NEURONS, *connectivity.channel_scale)
    jitter = np.random.default_rng(0).uniform(0.5, 1.5, scale.size)
    return replace(connectivity, data=(scale * jitter).astype(np.float32), channel_scale=(1.0, 1.0))


def same(found: Recording, expected: Recording) -> dict[str, bool]:
    """Which parts of two recordings are equal, bit by bit."""
    traces = found.traces
    return {
        "spikes": found.spikes == expected.spikes > 100,
        "per step": np.array_equal(found.counts, expected.counts),
        "ids": np.array_equal(found.ids, expected.ids),
        "traces": np.array_equal(traces, expected.traces[:, : traces.shape[1]]),
    }


def collectives(connectivity: Connectivity, blocks: Blocks) -> list[str]:
    """Every collective of the compiled chunk: its result's type and its name."""
    step, recorder = catalog_step(connectivity, MODEL, None, blocks), recorder_of(NEURONS, MODEL)
    state = initial_state(connectivity, MODEL, SEED)
    arguments = blocks.place(state, recorder.buffer(), blocks.connect(connectivity))
    text = compile_chunk(step, 1000, recorder, arguments, blocks).as_text()
    names = r"all-gather|all-reduce|all-to-all|collective-\w+|reduce-scatter"
    return sorted(re.findall(rf"= (\w+\[[\d,]*\])\S* (?:{names})(?:-start)?\(", text))


def measure() -> dict[str, Any]:
    prepare_devices(max(DEVICES))
    report: dict[str, Any] = {}
    homogeneous = random_connectivity(NEURONS, MODEL, SEED)
    for name, connectivity in (("one weight", homogeneous), ("weights", with_weights(homogeneous))):
        begin = partial(initial_state, connectivity, MODEL, SEED)
        step, synapses = catalog_step(connectivity, MODEL, None), on_device(connectivity)
        _, expected = simulate(MODEL, step, begin(), synapses, steps=STEPS)
        for devices in DEVICES:
            blocks = Blocks(NEURONS, mesh_of(devices, 1))
            step, synapses = catalog_step(connectivity, MODEL, None, blocks), blocks.connect(connectivity)
            _, found = simulate(MODEL, step, begin(), synapses, steps=STEPS, placement=blocks)
            report[f"{name}, {devices}"] = same(found, expected)
    blocks = Blocks(NEURONS, mesh_of(8, 1))
    return {"same": report, "collectives": collectives(homogeneous, blocks), "bytes": blocks.exchanged_bytes}


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    print(json.dumps(measure()))
