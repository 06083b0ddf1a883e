"""The CUBA network on our own operators; the protocol is in ``rivals/__init__.py``.

Spikes are counted, not recorded, as the rivals do. Every wish repeats the same simulated stretch.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from event_ops_harness.networks.cuba.connectivity import random_connectivity
from event_ops_harness.networks.cuba.fused import fused_state, fused_step
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import Spikes, State, catalog_step, initial_state, on_device
from event_ops_harness.networks.cuba.simulation import CHUNK_STEPS, Buffers, compile_chunk, make_buffers


def count_spikes(buffers: Buffers, t: jax.Array, state: State, spikes: Spikes) -> Buffers:
    """Instead of recording: only the number of spikes."""
    return buffers._replace(filled=buffers.filled + spikes.count)


def prepare(request: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """A function that simulates the stretch and says how long the loop took."""
    model, neurons, seed = CubaParameters(**request["model"]), request["neurons"], request["seed"]
    connectivity = random_connectivity(neurons, model, seed)
    synapses, fused = on_device(connectivity), request.get("fused", False)
    step = fused_step(connectivity, model) if fused else catalog_step(connectivity, model, None)

    def begin() -> tuple[State, Buffers]:
        state = initial_state(connectivity, model, seed)
        return fused_state(state) if fused else state, make_buffers(neurons, model)

    state, buffers = begin()
    run = compile_chunk(step, count_spikes, state, synapses, buffers)

    def simulate() -> dict[str, float]:
        state, buffers = begin()
        jax.block_until_ready((state, buffers))
        spikes, start = 0, time.perf_counter()
        for done in range(0, request["steps"], CHUNK_STEPS):
            todo = min(CHUNK_STEPS, request["steps"] - done)
            state, buffers = run(np.int32(todo), state, synapses, buffers)
            spikes += int(buffers.filled)
        return {"seconds": time.perf_counter() - start, "spikes": spikes}

    return simulate


def serve(request: dict[str, Any]) -> None:
    """Build and compile, then simulate once per line of stdin."""
    simulate = prepare(request)
    versions = {name: version(name) for name in ("jax", "jaxlib", "numba", "numpy")}
    print(json.dumps({"ready": versions}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(simulate()), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
