"""Our networks as rivals: ``python -m event_ops_harness.networks.rivals.ours REQUEST``.

The balanced networks and the one with inhibitory plasticity repeat the same stretch at every wish; the others
go on where the last one ended.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

from event_ops_harness.networks import coba, cuba
from event_ops_harness.networks.balanced.connectivity import Connectivity, random_connectivity
from event_ops_harness.networks.balanced.steps import BalancedNetwork
from event_ops_harness.networks.hpc_benchmark import network as hpc_benchmark
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.inhibitory_stdp import network as inhibitory_stdp
from event_ops_harness.networks.microcircuit import network as microcircuit
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.declared import declared, first_state
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.shared.processes import leave_a_processor
from event_ops_harness.networks.shared.simulation import Step
from event_ops_harness.networks.shared.worker import (
    counting_run,
    counting_scan,
    counting_stages,
    peak_memory,
    serve,
    timed,
)

Request = dict[str, Any]
Begin = Callable[[], Any]  # returns the first state
BALANCED = {"coba": coba.COBA, "cuba": cuba.CUBA}


def drawn(request: Request) -> tuple[BalancedNetwork, Connectivity, Begin]:
    """Return a balanced network, its connectivity, and the maker of its first state.

    Each stretch begins with a new state, as it takes the memory of the one that it is given.
    """
    network, seed = BALANCED[request["network"]], request["seed"]
    network = replace(network, model=type(network.model)(**request["model"]))
    connectivity = random_connectivity(request["neurons"], network.model, seed)
    return network, connectivity, partial(network.initial_state, connectivity, seed)


def in_one_call(request: Request) -> tuple[Callable[[Any, Any], Any], Begin, Any]:
    """Build a balanced network as a declaration; return its run, the maker of its first state, and itself."""
    network, connectivity, begin = drawn(request)
    declaration = network.declared(connectivity)
    first = lambda: declaration.state(begin())  # noqa: E731
    return counting_run(request["steps"], first(), declaration), first, declaration


def balanced(request: Request) -> tuple[Step, Begin, Any]:
    """Build a balanced network; return its step, the maker of its first state, and the step's inputs."""
    network, connectivity, begin = drawn(request)
    return network.catalog_step(connectivity), begin, network.synapses(connectivity)


def with_inhibitory_stdp(request: Request) -> tuple[Callable[[Any, Any], Any], Begin, Any]:
    """Build the network with inhibitory plasticity; return its run, its beginning, and its stages."""
    neurons, seed = request["neurons"], request["seed"]
    model = inhibitory_stdp.InhibitoryStdpParameters(**request["model"])
    synapses = inhibitory_stdp.synapses_of(random_connectivity(neurons, model, seed), model)
    stages = inhibitory_stdp.stages(synapses, model)
    begin = lambda: inhibitory_stdp.first_state(stages[0], model, seed)  # noqa: E731
    return counting_stages(request["steps"], begin(), stages), begin, stages


def with_stdp(request: Request) -> tuple[Callable[[Any, Any], Any], Begin, Any]:
    """Build the network with STDP; return its run, its beginning, and itself."""
    model = HpcBenchmark(**{field.name: request["model"][field.name] for field in fields(HpcBenchmark)})
    declaration = hpc_benchmark.declared(model, request["seed"])
    begin = lambda: hpc_benchmark.first_state(declaration, model, request["seed"])  # noqa: E731
    return counting_run(request["steps"], begin(), declaration), begin, declaration


def build_microcircuit(
    request: Request,
) -> tuple[Microcircuit, microcircuit.Wiring, microcircuit.State, float]:
    """Return the model, the wiring, the first state, and the seconds that the synapses took."""
    leave_a_processor()
    start = time.perf_counter()
    model, seed = Microcircuit(**request["model"]), request["seed"]
    wiring = microcircuit.wiring_of(recurrent_connectivity(model, seed), seed)
    seconds = time.perf_counter() - start
    return model, wiring, microcircuit.initial_state(model, seed), seconds


LEARNING = {"inhibitory_stdp": with_inhibitory_stdp, "hpc_benchmark": with_stdp}


def main(request: Request) -> None:
    """Build and compile, then simulate once per line of stdin."""
    name, more = request["network"], {}
    if name == "microcircuit":
        model, wiring, state, more["build_seconds"] = build_microcircuit(request)
        if request.get("one_call"):
            wiring = declared(model, wiring.recurrent)
            state = first_state(wiring, model, request["seed"])
            run = counting_run(request["steps"], state, wiring)
        else:
            run = counting_scan(microcircuit.catalog_step(model, None), request["steps"], state, wiring)
        begin = lambda: state  # noqa: E731
    elif request.get("one_call"):
        run, begin, wiring = in_one_call(request)
    elif name in LEARNING:
        run, begin, wiring = LEARNING[name](request)
    else:
        step, begin, wiring = balanced(request)
        run = counting_scan(step, request["steps"], begin(), wiring)
    # Beside Brian2, which has to repeat its stretch, ours does so, too; beside NEST alone it goes on.
    last, repeats = begin(), name not in ("microcircuit", "hpc_benchmark")

    def simulate() -> dict[str, float]:
        nonlocal last
        last, answer = timed(run, begin() if repeats else last, wiring)
        return answer | ({"peak_bytes": peak_memory()} if more else {})

    serve(simulate, **more)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
