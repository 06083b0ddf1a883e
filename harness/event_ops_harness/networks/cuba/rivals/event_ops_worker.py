"""The CUBA network on our own operators, as a rival; every wish repeats the same simulated stretch."""

import json
import sys
from collections.abc import Callable
from typing import Any

from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.cuba.fused import fused_state, fused_step
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import State, catalog_step, initial_state, on_device
from event_ops_harness.networks.shared.worker import counting_scan, serve, timed


def prepare(request: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """Build and compile; return a function that simulates the stretch and says how long it took."""
    model, neurons, seed = CubaParameters(**request["model"]), request["neurons"], request["seed"]
    connectivity = random_connectivity(neurons, model, seed)
    synapses, fused = on_device(connectivity), request.get("fused", False)
    step = fused_step(connectivity, model) if fused else catalog_step(connectivity, model, None)

    def begin() -> State:
        state = initial_state(connectivity, model, seed)
        return fused_state(state) if fused else state

    run = counting_scan(step, request["steps"], begin(), synapses)
    return lambda: timed(run, begin(), synapses)[1]


if __name__ == "__main__":
    serve(prepare(json.loads(sys.argv[1])))
