"""The network with STDP on our own operators, as a rival."""

import json
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import catalog_step, drawn
from event_ops_harness.networks.shared.worker import counting_scan, serve, timed


def prepare(request: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """Build and compile; return a function that simulates the next stretch and says how long it took."""
    model = HpcBenchmark(**{field.name: request["model"][field.name] for field in fields(HpcBenchmark)})
    step = catalog_step(model, request["seed"], capacity=max(64, model.neurons // 64))
    state, synapses = drawn(model, request["seed"])
    run = counting_scan(step, request["steps"], state, synapses)

    def again() -> dict[str, float]:
        nonlocal state
        state, said = timed(run, state, synapses)
        return said

    return again


if __name__ == "__main__":
    serve(prepare(json.loads(sys.argv[1])))
