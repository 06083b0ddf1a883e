"""The microcircuit on our own operators, as a rival; every wish goes on where the last one ended."""

import json
import sys
import time
from typing import Any

from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import (
    State,
    Wiring,
    catalog_step,
    initial_state,
    wiring_of,
)
from event_ops_harness.networks.shared.threads import leave_a_processor
from event_ops_harness.networks.shared.worker import counting_scan, peak_memory, serve, timed


def build(request: dict[str, Any]) -> tuple[Microcircuit, Wiring, State, float]:
    """Return the model, what its step reads, the first state, and the seconds that the synapses took."""
    leave_a_processor()
    start = time.perf_counter()
    model, seed = Microcircuit(**request["model"]), request["seed"]
    wiring = wiring_of(recurrent_connectivity(model, seed), seed)
    seconds = time.perf_counter() - start
    return model, wiring, initial_state(model, seed), seconds


def main(request: dict[str, Any]) -> None:
    """Build and compile, then simulate once per line of stdin."""
    model, wiring, state, built = build(request)
    run = counting_scan(catalog_step(model, None), request["steps"], state, wiring)

    def simulate() -> dict[str, float]:
        nonlocal state
        state, found = timed(run, state, wiring)
        return {**found, "peak_bytes": peak_memory()}

    serve(simulate, build_seconds=built)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
