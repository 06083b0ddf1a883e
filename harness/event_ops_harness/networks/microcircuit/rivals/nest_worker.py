"""The microcircuit in NEST; the protocol is in ``shared/rivals.py``."""

import json
import math
import sys
import time
from typing import Any

import nest
import numpy as np


def build_network(request: dict[str, Any]) -> tuple[list[Any], Any]:
    """Populations, synapses and background of the request; the populations, and a recorder or None."""
    network = request["network"]
    nest.ResetKernel()
    nest.set(resolution=network["dt"], rng_seed=request["seed"] + 1, local_num_threads=request["threads"])
    groups = [
        nest.Create("iaf_psc_exp", size, {**network["neuron"], "I_e": I_dc})
        for size, I_dc in zip(network["sizes"], network["I_dc"], strict=True)
    ]
    for group, mean, sd in zip(groups, network["V_mean"], network["V_sd"], strict=True):
        group.V_m = nest.random.normal(mean, sd)
    connect(groups, network)
    add_background(groups, network)
    recorder = None
    if request["record"]:
        recorder = nest.Create("spike_recorder")
        for group in groups:
            nest.Connect(group, recorder)
    return groups, recorder


def connect(groups: list[Any], network: dict[str, Any]) -> None:
    """Fixed total numbers, normal weights of one sign, normal delays of at least one step."""
    for target, row in enumerate(network["synapses"]):
        for source, synapses in enumerate(row):
            if synapses == 0:
                continue
            weight, delay = network["weights"][target][source], network["delays"][source]
            bounds = {"min": 0.0, "max": math.inf} if weight > 0 else {"min": -math.inf, "max": 0.0}
            normal = nest.random.normal(weight, abs(weight) * network["weight_rel_sd"])
            delays = nest.random.normal(delay, delay * network["delay_rel_sd"])
            synapse = {
                "weight": nest.math.redraw(normal, **bounds),
                "delay": nest.math.redraw(delays, min=0.5 * network["dt"], max=math.inf),
            }
            rule = {"rule": "fixed_total_number", "N": synapses}
            nest.Connect(groups[source], groups[target], rule, synapse)


def add_background(groups: list[Any], network: dict[str, Any]) -> None:
    """One Poisson generator per population, which sends each neuron spikes of its own."""
    for group, rate in zip(groups, network["external_rates"], strict=True):
        if rate > 0:
            source = nest.Create("poisson_generator", params={"rate": rate})
            nest.Connect(source, group, "all_to_all", {"weight": network["weight_ext"], "delay": 1.5})


def serve(request: dict[str, Any]) -> None:
    """Build, then simulate `steps` steps per line of stdin, continuing each time."""
    nest.verbosity = nest.VerbosityLevel.ERROR
    start = time.perf_counter()
    groups, recorder = build_network(request)
    duration, dt = request["steps"] * request["network"]["dt"], request["network"]["dt"]
    nest.Prepare()
    built = time.perf_counter() - start
    reply({"ready": {"nest": nest.__version__, "threads": request["threads"], "build_seconds": built}})
    for _ in sys.stdin:
        start = time.perf_counter()
        nest.Run(duration)
        seconds = time.perf_counter() - start
        reply({"seconds": seconds, "spikes": int(nest.local_spike_counter)})
    if recorder is not None:
        save(request["record"], recorder.events, groups[0][0].global_id, dt)


def save(path: str, events: dict[str, Any], first: int, dt: float) -> None:
    """NEST's time of a spike is the end of its step."""
    steps = np.round(np.asarray(events["times"]) / dt).astype(np.int64) - 1
    ids = np.asarray(events["senders"]) - first
    order = np.lexsort((ids, steps))
    np.savez(path, times=steps[order], ids=ids[order].astype(np.int32))


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
