"""The microcircuit on our own operators; the protocol is in ``rivals/__init__.py``.

Spikes are counted, not recorded, as in NEST without a recorder.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp

from event_ops_harness.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.microcircuit.model import Microcircuit
from event_ops_harness.microcircuit.network import State, Step, Wiring, catalog_step, initial_state, wiring_of
from event_ops_harness.microcircuit.report import peak_memory

Counting = Callable[[State, Wiring], tuple[State, jax.Array]]


def counting_scan(step: Step, steps: int, state: State, wiring: Wiring) -> Counting:
    """The scan over so many steps; the state is updated in place."""

    def run(state: State, wiring: Wiring) -> tuple[State, jax.Array]:
        def body(carry: tuple[State, jax.Array], _: None) -> tuple[tuple[State, jax.Array], None]:
            state, spikes = step(carry[0], wiring)
            return (state, carry[1] + spikes.count), None

        return jax.lax.scan(body, (state, jnp.zeros((), jnp.int32)), length=steps)[0]

    return jax.jit(run, donate_argnames="state").lower(state, wiring).compile()


def serve(request: dict[str, Any]) -> None:
    """Build and compile, then simulate once per line of stdin, continuing each time."""
    start = time.perf_counter()
    model, seed = Microcircuit(**request["model"]), request["seed"]
    wiring = wiring_of(recurrent_connectivity(model, seed), seed)
    built = time.perf_counter() - start
    state = initial_state(model, seed)
    run = counting_scan(catalog_step(model, None), request["steps"], state, wiring)
    versions = {name: version(name) for name in ("jax", "jaxlib", "numba", "numpy")}
    print(json.dumps({"ready": {**versions, "build_seconds": built}}), flush=True)
    for _ in sys.stdin:
        jax.block_until_ready(state)
        start = time.perf_counter()
        state, count = run(state, wiring)
        spikes = int(count)
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "spikes": spikes, "peak_bytes": peak_memory()}), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
