"""A balanced network on our own operators, as a rival; every wish repeats the same simulated stretch."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from event_ops_harness.networks.balanced.cli import Network, start_of
from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.shared.blocks import ONE_DEVICE
from event_ops_harness.networks.shared.worker import counting_scan, timed


def prepare(network: Network, request: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """Build and compile; return a function that simulates the stretch and says how long it took."""
    network = replace(network, model=type(network.model)(**request["model"]))
    options = Namespace(seed=request["seed"], fused=request.get("fused", False), backend=None)
    connectivity = random_connectivity(request["neurons"], network.model, options.seed)
    synapses = network.on_device(connectivity)

    def begin() -> tuple[Any, Any]:
        return start_of(network, options, connectivity, ONE_DEVICE)

    step, state = begin()
    run = counting_scan(step, request["steps"], state, synapses)
    return lambda: timed(run, begin()[1], synapses)[1]
