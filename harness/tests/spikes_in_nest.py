"""Simulate a small network in NEST: a request on stdin, [[step, neuron], ...] on stdout, both JSON.

A program of its own, since NEST ends a process that has loaded JAX.
"""

import json
import sys
from typing import Any

import nest  # pyright: ignore[reportMissingImports]
import numpy as np


def spikes(request: dict[str, Any]) -> list[list[int]]:
    nest.verbosity = nest.VerbosityLevel.ERROR
    nest.set(resolution=request["dt"], rng_seed=1)
    group = nest.Create("iaf_psc_exp", len(request["V_m"]), request["neuron"])
    group.set({"V_m": request["V_m"], "I_e": request["I_e"]})
    first = group[0].global_id
    ends = (np.asarray(request[name]) + first for name in ("sources", "targets"))
    weights, delays = np.asarray(request["weights"]), np.asarray(request["delays"]) * request["dt"]
    synapse = {"weight": weights, "delay": delays, "synapse_model": "static_synapse"}
    nest.Connect(*ends, "one_to_one", synapse)
    recorder = nest.Create("spike_recorder")
    nest.Connect(group, recorder)
    nest.Simulate(request["steps"] * request["dt"])
    # NEST's time of a spike is the end of its step.
    times = np.round(np.asarray(recorder.events["times"]) / request["dt"]).astype(int) - 1
    senders = np.asarray(recorder.events["senders"]) - first
    return np.stack([times, senders], axis=1).tolist()


if __name__ == "__main__":
    found = spikes(json.load(sys.stdin))
    print(json.dumps({"spikes": found}))
