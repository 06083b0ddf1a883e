"""A program: the CUBA network on one and on several CPU devices; run by test_cuba_devices.py.

python cuba_on_devices.py prints, as JSON, what was the same for each number of devices.
"""

import json
import re
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from event_ops_harness.networks.cuba.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import catalog_step, initial_state
from event_ops_harness.networks.cuba.sharded import Blocks, network, sharded_chunk, simulate_sharded
from event_ops_harness.networks.cuba.simulation import Recording, compiled, simulate
from event_ops_harness.networks.shared.blocks import mesh_of
from event_ops_harness.networks.shared.processes import prepare_devices

MODEL, NEURONS, SEED, STEPS = CubaParameters(), 403, 3, 1200
DEVICES = (1, 3, 8)


def with_weights(connectivity: Connectivity) -> Connectivity:
    """A weight per synapse, in mV."""
    scale = np.where(connectivity.indices < NEURONS, *connectivity.channel_scale)
    jitter = np.random.default_rng(0).uniform(0.5, 1.5, scale.size)
    return replace(connectivity, data=(scale * jitter).astype(np.float32), channel_scale=(1.0, 1.0))


def same(found: Recording, expected: Recording) -> dict[str, bool]:
    """Which parts of two recordings are equal, bit by bit."""
    traces = np.concatenate(found.V_m)
    return {
        "spikes": found.spikes == expected.spikes > 100,
        "per step": all(map(np.array_equal, found.num_spikes, expected.num_spikes)),
        "ids": all(map(np.array_equal, found.spike_ids, expected.spike_ids)),
        "traces": np.array_equal(traces, np.concatenate(expected.V_m)[:, : traces.shape[1]]),
    }


def collectives(connectivity: Connectivity, blocks: Blocks) -> list[str]:
    """Every collective of the compiled chunk: its result's type and its name."""
    arguments = network(connectivity, MODEL, blocks, SEED)
    text = compiled(sharded_chunk(connectivity, MODEL, blocks, None), *arguments).as_text()
    names = r"all-gather|all-reduce|all-to-all|collective-\w+|reduce-scatter"
    return sorted(re.findall(rf"= (\w+\[[\d,]*\])\S* (?:{names})(?:-start)?\(", text))


def measure() -> dict[str, Any]:
    prepare_devices(max(DEVICES))
    report: dict[str, Any] = {}
    homogeneous = random_connectivity(NEURONS, MODEL, SEED)
    for name, connectivity in (("one weight", homogeneous), ("weights", with_weights(homogeneous))):
        step, state = catalog_step(connectivity, MODEL, None), initial_state(connectivity, MODEL, SEED)
        expected = simulate(connectivity, MODEL, step, state, steps=STEPS)
        for devices in DEVICES:
            blocks = Blocks(NEURONS, mesh_of(devices, 1))
            asked = {"seed": SEED, "backend": None, "steps": STEPS}
            report[f"{name}, {devices}"] = same(
                simulate_sharded(connectivity, MODEL, blocks, **asked), expected
            )
    blocks = Blocks(NEURONS, mesh_of(8, 1))
    return {"same": report, "collectives": collectives(homogeneous, blocks), "bytes": blocks.exchanged_bytes}


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    print(json.dumps(measure()))
