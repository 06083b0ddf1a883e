"""Run one process of `bench processes`: the network with static synapses, on so many devices of so many."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from event_ops_harness.bench.workers.all_gather import mesh_for
from event_ops_harness.networks.hpc_benchmark import static
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.shared.blocks import EqualBlocks


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wall clock of stretches of `intervals` delays, after one that is not measured, and spikes.

    `spikes` counts those of all stretches, and `digest` is of who spiked in which step.
    """
    model, intervals = HpcBenchmark(scale=request["scale"]), request["intervals"]
    blocks = EqualBlocks(model.neurons, mesh_for(request, model.neurons))
    arguments = static.first_state(model, 1, blocks), static.connect(model, 1, blocks)
    run = static.compile_intervals(model, 1, blocks, arguments, intervals)
    (state, synapses), digest, seconds, spikes = jax.block_until_ready(arguments), hashlib.sha256(), [], 0
    for _ in range(1 + request["stretches"]):
        begun = time.perf_counter()
        state, lists = jax.block_until_ready(run(state, synapses))
        seconds.append((time.perf_counter() - begun) / (intervals * model.delay_steps))
        static.check_lists(lists)
        digest.update(np.asarray(lists.ids).tobytes())
        spikes += int(np.asarray(lists.counts).sum())
    return {"seconds": seconds[1:], "spikes": spikes, "digest": digest.hexdigest()}


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
