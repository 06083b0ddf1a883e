"""Simulate in NEST: the name of a simulation as the argument, a request on stdin, the answer on stdout, JSON.

A program of its own, since NEST ends a process that has loaded JAX. Spikes are [step, neuron] pairs.
"""

import json
import sys
from typing import Any

import nest  # pyright: ignore[reportMissingImports]
import numpy as np


def recorder_of(group: Any) -> Any:
    """Return the record of all spikes of a group."""
    recorder = nest.Create("spike_recorder")
    nest.Connect(group, recorder)
    return recorder


def meter_of(group: Any, dt: float) -> Any:
    """Return the record of the potentials of a group, of each step."""
    meter = nest.Create("multimeter", 1, {"record_from": ["V_m"], "interval": dt})
    nest.Connect(meter, group)
    return meter


def spikes_of(recorder: Any, group: Any, dt: float) -> list[list[int]]:
    """Return who spiked in which step."""
    # NEST's time of a spike is the end of its step.
    steps = np.round(np.asarray(recorder.events["times"]) / dt).astype(int) - 1
    return np.stack([steps, np.asarray(recorder.events["senders"]) - group[0].global_id], axis=1).tolist()


def neuron(request: dict[str, Any]) -> dict[str, Any]:
    """Return the potential and the spikes of one neuron that spikes arrive at."""
    dt = request["dt"]
    nest.set(resolution=dt)
    one = nest.Create(request["model"], 1, request["parameters"])
    steps, weights = np.array(request["arrivals"]).T
    # With the smallest delay, a spike at the beginning of a step arrives in that step.
    source = nest.Create("spike_generator", 1, {"spike_times": steps * dt, "spike_weights": weights})
    nest.Connect(source, one, syn_spec={"delay": dt})
    meter, recorder = meter_of(one, dt), recorder_of(one)
    nest.Simulate(request["steps"] * dt + dt)
    V = meter.events["V_m"].tolist()[: request["steps"]]
    return {"V_m": V, "spikes": [step for step, _ in spikes_of(recorder, one, dt)]}


def gap(request: dict[str, Any]) -> dict[str, Any]:
    """Return the potentials and spikes of neurons with gap junctions."""
    dt, steps, currents = request["dt"], request["steps"], request["I_e"]
    nest.set(resolution=dt, use_wfr=True, wfr_tol=1e-6)
    neurons = nest.Create(request["model"], len(currents), request["parameters"])
    neurons.I_e = currents
    both_ways = {"rule": "one_to_one", "make_symmetric": True}
    for i, j, weight in request["junctions"]:
        nest.Connect(neurons[i], neurons[j], both_ways, {"synapse_model": "gap_junction", "weight": weight})
    meter, recorder = meter_of(neurons, dt), recorder_of(neurons)
    nest.Simulate(steps * dt + dt)
    order = np.lexsort((meter.events["times"], meter.events["senders"]))
    V = meter.events["V_m"][order].reshape(len(currents), -1)[:, :steps]
    return {"V_m": V.tolist(), "spikes": sorted(spikes_of(recorder, neurons, dt))}


def network(request: dict[str, Any]) -> dict[str, Any]:
    """Return the spikes of a small network, each synapse of which is given."""
    dt = request["dt"]
    nest.set(resolution=dt, rng_seed=1)
    group = nest.Create("iaf_psc_exp", len(request["V_m"]), request["neuron"])
    group.set({"V_m": request["V_m"], "I_e": request["I_e"]})
    ends = (np.asarray(request[name]) + group[0].global_id for name in ("sources", "targets"))
    weights, delays = np.asarray(request["weights"]), np.asarray(request["delays"]) * dt
    synapse = {"weight": weights, "delay": delays, "synapse_model": "static_synapse"}
    nest.Connect(*ends, "one_to_one", synapse)
    recorder = recorder_of(group)
    nest.Simulate(request["steps"] * dt)
    return {"spikes": spikes_of(recorder, group, dt)}


def plastic(request: dict[str, Any]) -> dict[str, Any]:
    """Return the spikes of the network with STDP; synapses, potentials and background are in a file."""
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
        for name in list(kinds)[:-1]:
            ends = given[name].astype(np.int64) + group[0].global_id
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
    recorder = recorder_of(group)
    nest.Simulate(steps * dt)
    return {"spikes": spikes_of(recorder, group, dt)}


if __name__ == "__main__":
    nest.verbosity = nest.VerbosityLevel.ERROR
    simulate = {x.__name__: x for x in (neuron, gap, network, plastic)}[sys.argv[1]]
    print(json.dumps(simulate(json.load(sys.stdin))))
