"""Simulate neurons with gap junctions in NEST: a request on stdin, V and spikes on stdout, both JSON.

A program of its own, since NEST ends a process that has loaded JAX.
"""

import json
import sys
from typing import Any

import nest  # pyright: ignore[reportMissingImports]
import numpy as np


def simulated(request: dict[str, Any]) -> dict[str, Any]:
    dt, steps, currents = request["dt"], request["steps"], request["I_e"]
    nest.verbosity = nest.VerbosityLevel.ERROR
    nest.set(resolution=dt, use_wfr=True, wfr_tol=1e-6)
    neurons = nest.Create(request["model"], len(currents), request["parameters"])
    neurons.I_e = currents
    both_ways = {"rule": "one_to_one", "make_symmetric": True}
    for i, j, weight in request["junctions"]:
        nest.Connect(neurons[i], neurons[j], both_ways, {"synapse_model": "gap_junction", "weight": weight})
    meter = nest.Create("multimeter", 1, {"record_from": ["V_m"], "interval": dt})
    nest.Connect(meter, neurons)
    recorder = nest.Create("spike_recorder")
    nest.Connect(neurons, recorder)
    nest.Simulate(steps * dt + dt)
    events, first = meter.events, neurons[0].global_id
    order = np.lexsort((events["times"], events["senders"]))
    V = events["V_m"][order].reshape(len(currents), -1)[:, :steps]
    # NEST's time of a spike is the end of its step.
    times = np.round(np.asarray(recorder.events["times"]) / dt).astype(int) - 1
    spikes = sorted(zip(times.tolist(), (recorder.events["senders"] - first).tolist(), strict=True))
    return {"V_m": V.tolist(), "spikes": spikes}


if __name__ == "__main__":
    print(json.dumps(simulated(json.load(sys.stdin))))
