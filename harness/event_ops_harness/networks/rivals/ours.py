"""Our networks as rivals: ``python -m event_ops_harness.networks.rivals.ours REQUEST``.

The balanced networks and the one with inhibitory plasticity repeat the same stretch at every wish; the others
go on where the last one ended.
"""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from event_ops_harness.networks.balanced.cli import Network, start_of
from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.balanced.network import capacity_of
from event_ops_harness.networks.coba import COBA
from event_ops_harness.networks.cuba import CUBA
from event_ops_harness.networks.hpc_benchmark import network as hpc_benchmark
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.inhibitory_stdp import network as inhibitory_stdp
from event_ops_harness.networks.microcircuit import network as microcircuit
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.shared.blocks import ONE_DEVICE
from event_ops_harness.networks.shared.processes import leave_a_processor
from event_ops_harness.networks.shared.simulation import Step
from event_ops_harness.networks.shared.worker import counting_scan, peak_memory, serve, timed

Request = dict[str, Any]
Simulate = Callable[[], dict[str, float]]


def balanced(network: Network, request: Request) -> Simulate:
    """Build and compile a balanced network; return a function that simulates the stretch and times it."""
    network = replace(network, model=type(network.model)(**request["model"]))
    options = Namespace(seed=request["seed"], fused=request.get("fused", False), backend=None)
    connectivity = random_connectivity(request["neurons"], network.model, options.seed)
    synapses = network.on_device(connectivity)

    def begin() -> tuple[Step, Any]:
        return start_of(network, options, connectivity, ONE_DEVICE)

    step, state = begin()
    run = counting_scan(step, request["steps"], state, synapses)
    return lambda: timed(run, begin()[1], synapses)[1]


def with_inhibitory_stdp(request: Request) -> Simulate:
    """Build and compile; return a function that simulates the stretch and times it."""
    neurons, model = request["neurons"], inhibitory_stdp.InhibitoryStdpParameters(**request["model"])
    step = inhibitory_stdp.catalog_step(neurons, model, capacity_of(neurons))
    state, synapses = inhibitory_stdp.drawn(neurons, model, request["seed"])
    run = counting_scan(step, request["steps"], state, synapses)
    return lambda: timed(run, inhibitory_stdp.drawn(neurons, model, request["seed"])[0], synapses)[1]


def going_on(step: Step, request: Request, state: Any, wiring: Any) -> Simulate:
    """Compile the step; return a function that simulates the next stretch and times it."""
    run = counting_scan(step, request["steps"], state, wiring)

    def again() -> dict[str, float]:
        nonlocal state
        state, said = timed(run, state, wiring)
        return said

    return again


def with_stdp(request: Request) -> Simulate:
    """Build and compile; return a function that simulates the next stretch and times it."""
    model = HpcBenchmark(**{field.name: request["model"][field.name] for field in fields(HpcBenchmark)})
    step = hpc_benchmark.catalog_step(model, request["seed"], capacity=max(64, model.neurons // 64))
    return going_on(step, request, *hpc_benchmark.drawn(model, request["seed"]))


def build_microcircuit(
    request: Request,
) -> tuple[Microcircuit, Any, Any, float]:
    """Return the model, the wiring, the first state, and the seconds that the synapses took."""
    leave_a_processor()
    start = time.perf_counter()
    model, seed = Microcircuit(**request["model"]), request["seed"]
    wiring = microcircuit.wiring_of(recurrent_connectivity(model, seed), seed)
    seconds = time.perf_counter() - start
    return model, wiring, microcircuit.initial_state(model, seed), seconds


def main(request: Request) -> None:
    """Build and compile, then simulate once per line of stdin."""
    name = request["network"]
    if name == "microcircuit":
        model, wiring, state, built = build_microcircuit(request)
        simulate = going_on(microcircuit.catalog_step(model, None), request, state, wiring)
        serve(lambda: {**simulate(), "peak_bytes": peak_memory()}, build_seconds=built)
    elif name in ("coba", "cuba"):
        serve(balanced(COBA if name == "coba" else CUBA, request))
    else:
        serve({"inhibitory_stdp": with_inhibitory_stdp, "hpc_benchmark": with_stdp}[name](request))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
