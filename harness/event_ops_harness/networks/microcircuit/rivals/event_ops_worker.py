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

from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import (
    State,
    Step,
    Wiring,
    catalog_step,
    initial_state,
    wiring_of,
)
from event_ops_harness.networks.microcircuit.report import peak_memory

Counted = tuple[State, jax.Array]  # and how many spikes there were
Counting = Callable[[State, Wiring], Counted]


def counting(step: Step) -> Callable[[Counted, Wiring], Counted]:
    """The step, with its spikes added to those before."""

    def counted(carry: Counted, wiring: Wiring) -> Counted:
        state, spikes = step(carry[0], wiring)
        return state, carry[1] + spikes.count

    return counted


def counting_scan(step: Step, steps: int, state: State, wiring: Wiring) -> Counting:
    """The scan over so many steps; the state is updated in place."""
    move = counting(step)

    def run(state: State, wiring: Wiring) -> Counted:
        carry = state, jnp.zeros((), jnp.int32)
        return jax.lax.scan(lambda carry, _: (move(carry, wiring), None), carry, length=steps)[0]

    return jax.jit(run, donate_argnames="state").lower(state, wiring).compile()


def build(request: dict[str, Any]) -> tuple[Microcircuit, Wiring, State, float]:
    """The network that is asked for, its state to begin with, and the seconds that its synapses took."""
    start = time.perf_counter()
    model, seed = Microcircuit(**request["model"]), request["seed"]
    wiring = wiring_of(recurrent_connectivity(model, seed), seed)
    seconds = time.perf_counter() - start
    return model, wiring, initial_state(model, seed), seconds


def serve(request: dict[str, Any]) -> None:
    """Build and compile, then simulate once per line of stdin, continuing each time."""
    model, wiring, state, built = build(request)
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
