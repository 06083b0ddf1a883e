"""A program: balanced networks on one and on several CPU devices; run by test_cuba_devices.py.

python cuba_on_devices.py prints, as JSON, what was the same for each number of devices.
"""

import json
import re
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from event_ops_harness.networks.balanced.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.balanced.steps import BalancedNetwork, Blocks
from event_ops_harness.networks.coba import COBA
from event_ops_harness.networks.cuba import CUBA
from event_ops_harness.networks.shared.blocks import mesh_of
from event_ops_harness.networks.shared.processes import prepare_devices
from event_ops_harness.networks.shared.simulation import Recording, compile_chunk

NEURONS, SEED, STEPS = 403, 3, 1200
DEVICES = (1, 3, 8)


def with_weights(connectivity: Connectivity) -> Connectivity:
    """A weight per synapse."""
    scale = np.where(connectivity.indices < NEURONS, *connectivity.channel_scale)
    jitter = np.random.default_rng(0).uniform(0.5, 1.5, scale.size)
    return replace(connectivity, data=(scale * jitter).astype(np.float32), channel_scale=(1.0, 1.0))


def same(found: Recording, expected: Recording) -> dict[str, bool]:
    """Which parts of two recordings are equal, bit by bit."""
    traces, others = found.traces["V_m"], expected.traces["V_m"]
    return {
        "spikes": found.spikes == expected.spikes > 100,
        "per step": np.array_equal(found.counts, expected.counts),
        "ids": np.array_equal(found.ids, expected.ids),
        "traces": np.array_equal(traces, others[:, : traces.shape[1]]),
    }


def collectives(network: BalancedNetwork, connectivity: Connectivity, blocks: Blocks) -> list[str]:
    """Every collective of the compiled chunk: its result's type and its name."""
    built = network.build(connectivity, SEED, STEPS, placement=blocks)
    arguments = blocks.place(built.state, built.recorder.buffer(), built.wiring)
    text = compile_chunk(built.step, 1000, built.recorder, arguments, blocks).as_text()
    names = r"all-gather|all-reduce|all-to-all|collective-\w+|reduce-scatter"
    return sorted(re.findall(rf"= (\w+\[[\d,]*\])\S* (?:{names})(?:-start)?\(", text))


def on_devices(network: BalancedNetwork, connectivity: Connectivity) -> dict[int, dict[str, bool]]:
    """Return whether spikes and states are those of one call on one device, by the number of devices."""
    report = {}
    _, expected = network.build(connectivity, SEED, STEPS).run()
    for devices in DEVICES:
        blocks = Blocks(NEURONS, mesh_of(devices, 1))
        _, found = network.build(connectivity, SEED, STEPS, placement=blocks).run()
        report[devices] = same(found, expected)
    return report


def measure() -> dict[str, Any]:
    prepare_devices(max(DEVICES))
    report: dict[str, Any] = {}
    for network in (CUBA, COBA):
        homogeneous = random_connectivity(NEURONS, network.model, SEED)
        for name, connectivity in (("one weight", homogeneous), ("weights", with_weights(homogeneous))):
            for devices, parts in on_devices(network, connectivity).items():
                report[f"{network.name}, {name}, {devices}"] = parts
        blocks = Blocks(NEURONS, mesh_of(8, 1))
        report[network.name] = {
            "collectives": collectives(network, homogeneous, blocks),
            "bytes": blocks.exchanged_bytes,
        }
    return report


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    print(json.dumps(measure()))
