"""Time networks on the GPU, in one call, and as a scan with and without CUDA graphs.

They are timed as the workers of their benchmarks time them: a stretch after the other, of which spikes are
counted. Rates are those of the last stretch, in spikes per neuron and second.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import numpy as np

from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.cuba import CUBA
from event_ops_harness.networks.hpc_benchmark import network as hpc_benchmark
from event_ops_harness.networks.hpc_benchmark import static
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.on_device import drawn_on_device
from event_ops_harness.networks.microcircuit import network as microcircuit
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.declared import declared, first_state, simulation
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.shared.simulation import Step
from event_ops_harness.networks.shared.worker import Counted, counting_run, counting_scan, timed
from ffi_bridge import graph_options

NEURONS = 4000  # of CUBA
SCALES = (0.1, 1.0)  # of the others
SECONDS = 1.0  # of model time in a stretch
STRETCHES = 3  # that are measured, after one that is not
SEED = 1
ONE_CALL = "one call"


class Way(NamedTuple):
    """Hold a way to run a network: its name, the compiler of a stretch, the first state, and the wiring."""

    name: str
    compiled: Callable[[Any, Any], Callable[[Any, Any], Counted]]  # of state and wiring
    begin: Callable[[], Any]
    wiring: Any


def scans(step: Step, steps: int, begin: Callable[[], Any], wiring: Any) -> list[Way]:
    """Return the scan with each kind of launches."""
    kinds: dict[str, dict[str, Any]] = {"no graph": {}, "graph": graph_options()}
    return [
        Way(how, partial(counting_scan, step, steps, compiler_options=options), begin, wiring)
        for how, options in kinds.items()
    ]


def stretches(name: str, ways: list[Way], steps: int, neurons: int, seconds: float) -> dict[str, float]:
    """Return, of each way, the median time of a stretch, and the rate in the last one."""
    figures: dict[str, float] = {}
    for way in ways:
        # Programs take the memory of the state that they are given: each begins with its own.
        state = way.begin()
        program = way.compiled(state, way.wiring)
        measured: list[dict[str, float]] = []
        for _ in range(1 + STRETCHES):
            state, stretch = timed(program, state, way.wiring)
            measured.append(stretch)
        took = statistics.median(stretch["seconds"] for stretch in measured[1:])
        figures[f"{name}, {way.name}, us a step"] = took / steps * 1e6
        figures[f"{name}, {way.name}, times real time"] = took / seconds
        figures[f"{name}, {way.name}, Hz"] = measured[-1]["spikes"] / neurons / seconds
    return figures


def balanced(seconds: float) -> dict[str, float]:
    """Time the CUBA network."""
    steps, drawn = CUBA.model.steps(seconds), random_connectivity(NEURONS, CUBA.model, seed=0)
    step = CUBA.catalog_step(drawn)
    begin = partial(CUBA.initial_state, drawn, 0)
    network = CUBA.declared(drawn)
    one_call = Way(ONE_CALL, partial(counting_run, steps), lambda: network.state(begin()), network)
    ways = [*scans(step, steps, begin, CUBA.synapses(drawn)), one_call]
    return stretches(f"CUBA {NEURONS}", ways, steps, NEURONS, seconds)


def simulated(scale: float, seconds: float) -> dict[str, Any]:
    """Build the microcircuit once, and time it."""
    model = Microcircuit(N_scaling=scale, K_scaling=scale)
    started = time.perf_counter()
    connectivity = recurrent_connectivity(model, SEED)
    built = time.perf_counter() - started
    wiring = jax.block_until_ready(microcircuit.wiring_of(connectivity, SEED))
    name, steps = f"microcircuit {scale:g}", model.steps(seconds)
    begin, network = partial(microcircuit.initial_state, model, SEED), declared(model, wiring.recurrent)
    one_call = Way(
        ONE_CALL, partial(counting_run, steps), partial(first_state, network, model, SEED), network
    )
    ways = [*scans(microcircuit.catalog_step(model, None), steps, begin, wiring), one_call]
    figures: dict[str, Any] = {f"{name}, synapses": int(model.synapses.sum()), f"{name}, s to build": built}
    figures |= stretches(name, ways, steps, model.neurons, seconds)
    return figures | {f"{name}, {key}": rate for key, rate in rates(model, wiring.recurrent, seconds).items()}


def learning(scale: float, seconds: float) -> dict[str, float]:
    """Time `hpc_benchmark` with its plastic synapses, in one call and as a scan of operators."""
    model = HpcBenchmark(scale=scale)
    network = hpc_benchmark.declared(model, SEED)
    begin = partial(hpc_benchmark.first_state, network, model, SEED)
    steps, backends = model.steps(seconds), {ONE_CALL: None, "scan": "reference"}
    ways = [
        Way(name, partial(counting_run, steps, backend=backend), begin, network)
        for name, backend in backends.items()
    ]
    return stretches(f"learning hpc_benchmark {scale:g}", ways, steps, model.neurons, seconds)


def static_network(scale: float, seconds: float) -> dict[str, Any]:
    """Draw the static `hpc_benchmark` of NEST on the GPU, in words of 16 bits, and time it in one call."""
    model = HpcBenchmark(scale=scale)
    steps, name = model.steps(seconds), f"hpc_benchmark {scale:g}"
    with jax.enable_x64(True):  # by which 64 bits count the synapses, if 32 cannot
        started = time.perf_counter()
        A = jax.block_until_ready(drawn_on_device(model, SEED))
        built, network = time.perf_counter() - started, static.declared(model, A)
        begin = partial(hpc_benchmark.first_state, network, model, SEED)
        figures = {f"{name}, synapses": A.nse, f"{name}, s to build": built}
        return figures | stretches(
            name, [Way(ONE_CALL, partial(counting_run, steps), begin, network)], steps, model.neurons, seconds
        )


def rates(model: Microcircuit, synapses: Any, seconds: float) -> dict[str, float]:
    """Return the rate of each population in `seconds`, after as many that are not counted."""
    steps = model.steps(seconds)
    _, recording = simulation(model, synapses, SEED, 2 * steps).run()
    counts = np.bincount(recording.ids[recording.times >= steps], minlength=model.neurons)
    each = np.add.reduceat(counts, model.first[:-1]) / model.sizes / seconds
    return {f"{name}, Hz": float(rate) for name, rate in zip(POPULATIONS, each, strict=True)}


SCALED: Final = {"microcircuit": simulated, "hpc_benchmark": static_network, "learning": learning}


def main(argv: list[str] | None = None) -> None:
    """Print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=("cuba", *SCALED))
    parser.add_argument("--scales", type=float, nargs="+", default=SCALES)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    if options.network == "cuba":
        figures = balanced(options.seconds)
    else:
        for scale in options.scales:
            figures |= SCALED[options.network](scale, options.seconds)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
