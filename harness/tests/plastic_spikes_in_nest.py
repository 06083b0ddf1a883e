"""Simulate the network with STDP in NEST with given synapses, potentials and background, from a file.

A request on stdin, {"model": ..., "steps": ..., "inputs": path}; {"spikes": [[step, neuron], ...]} on
stdout. A program of its own, since NEST ends a process that has loaded JAX.
"""

import json
import sys
from typing import Any

import nest  # pyright: ignore[reportMissingImports]
import numpy as np


def spikes(request: dict[str, Any]) -> list[list[int]]:
    nest.verbosity = nest.VerbosityLevel.ERROR
    model, steps = request["model"], request["steps"]
    dt, delay, weight = (model[name] for name in ("dt", "delay", "weight"))
    nest.set(resolution=dt, rng_seed=1)
    fields = {name: model[name] for name in ("C_m", "tau_m", "t_ref", "V_th", "V_reset", "tau_minus")}
    fields |= {"E_L": 0.0, "tau_syn_ex": model["tau_syn"], "tau_syn_in": model["tau_syn"]}
    rule = {"alpha": model["alpha"], "lambda": model["lam"], "mu": model["mu"], "tau_plus": model["tau_plus"]}
    kinds = {
        "learning": ("stdp_pl_synapse_hom_hpc", {**rule, "weight": weight, "delay": delay}),
        "to_inhibitory": ("static_synapse_hpc", {"weight": weight, "delay": delay}),
        "inhibitory": ("static_synapse_hpc", {"weight": model["g"] * weight, "delay": delay}),
        "outside": ("static_synapse_hpc", {"weight": weight, "delay": dt}),
    }
    for name, (kind, parameters) in kinds.items():
        nest.CopyModel(kind, name, parameters)
    with np.load(request["inputs"]) as given:
        group = nest.Create("iaf_psc_alpha", given["V_m"].size, params=fields)
        group.V_m = given["V_m"].astype(float)
        first = group[0].global_id
        for name in list(kinds)[:-1]:
            ends = given[name].astype(np.int64) + first
            nest.Connect(*ends, "one_to_one", {"synapse_model": name})
        # A spike at the end of step k - 1 arrives at that of step k; none can arrive at the end of the first.
        counts = given["outside"][1:steps]
    generators = nest.Create("spike_generator", len(group))
    generators.set([
        {"spike_times": np.round((at + 1) * dt, 1), "spike_multiplicities": counts[at, i].astype(int)}
        for i in range(counts.shape[1])
        for at in (np.flatnonzero(counts[:, i]),)
    ])  # fmt: skip
    nest.Connect(generators, group, "one_to_one", {"synapse_model": "outside"})
    recorder = nest.Create("spike_recorder")
    nest.Connect(group, recorder)
    nest.Simulate(steps * dt)
    # NEST's time of a spike is the end of its step.
    times = np.round(np.asarray(recorder.events["times"]) / dt).astype(int) - 1
    return np.stack([times, np.asarray(recorder.events["senders"]) - first], axis=1).tolist()


if __name__ == "__main__":
    print(json.dumps({"spikes": spikes(json.load(sys.stdin))}))
