"""The network with inhibitory plasticity on our own operators, as a rival; it repeats the same stretch."""

import json
import sys
from collections.abc import Callable
from typing import Any

from event_ops_harness.networks.balanced.simulation import capacity_of
from event_ops_harness.networks.inhibitory_stdp.model import InhibitoryStdpParameters
from event_ops_harness.networks.inhibitory_stdp.network import catalog_step
from event_ops_harness.networks.inhibitory_stdp.simulation import drawn
from event_ops_harness.networks.shared.worker import counting_scan, serve, timed


def prepare(request: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """Build and compile; return a function that simulates the stretch and says how long it took."""
    neurons, model = request["neurons"], InhibitoryStdpParameters(**request["model"])
    step = catalog_step(neurons, model, capacity_of(neurons))
    state, synapses = drawn(neurons, model, request["seed"])
    run = counting_scan(step, request["steps"], state, synapses)
    return lambda: timed(run, drawn(neurons, model, request["seed"])[0], synapses)[1]


if __name__ == "__main__":
    serve(prepare(json.loads(sys.argv[1])))
