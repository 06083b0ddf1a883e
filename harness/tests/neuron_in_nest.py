"""Simulate one neuron in NEST: a request on stdin, its potential and spikes on stdout, both JSON.

A program of its own, since NEST ends a process that has loaded JAX.
"""

import json
import sys
from typing import Any

import nest  # pyright: ignore[reportMissingImports]
import numpy as np


def simulated(request: dict[str, Any]) -> dict[str, Any]:
    dt = request["dt"]
    nest.verbosity = nest.VerbosityLevel.ERROR
    nest.set(resolution=dt)
    neuron = nest.Create(request["model"], 1, request["parameters"])
    steps, weights = np.array(request["arrivals"]).T
    # With the smallest delay, a spike at the beginning of a step arrives in that step.
    source = nest.Create("spike_generator", 1, {"spike_times": steps * dt, "spike_weights": weights})
    nest.Connect(source, neuron, syn_spec={"delay": dt})
    meter = nest.Create("multimeter", 1, {"record_from": ["V_m"], "interval": dt})
    nest.Connect(meter, neuron)
    recorder = nest.Create("spike_recorder")
    nest.Connect(neuron, recorder)
    nest.Simulate(request["steps"] * dt + dt)
    # NEST's time of a spike is the end of its step.
    spikes = np.round(np.asarray(recorder.events["times"]) / dt).astype(int) - 1
    return {"V_m": meter.events["V_m"].tolist()[: request["steps"]], "spikes": spikes.tolist()}


if __name__ == "__main__":
    print(json.dumps(simulated(json.load(sys.stdin))))
