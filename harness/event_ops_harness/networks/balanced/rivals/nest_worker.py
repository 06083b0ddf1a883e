"""A balanced network in NEST; the protocol is in ``shared/rivals.py``.

CUBA: ``iaf_psc_exp`` with C_m = tau_m has a resistance of 1, so currents in pA are drives in mV.
COBA: ``iaf_cond_exp``, in which a negative weight adds to the inhibitory conductance.
NEST has no zero delay: spikes arrive one time step later, the shortest delay it knows, and it
exchanges spikes once per shortest delay, so here at every step.
The number of synapses is the expected one of the random network, since NEST looks at every pair of neurons
for a probability: hours at 400,000 neurons.
"""

import json
import sys
import time
from typing import Any

import nest
import numpy as np

FIELDS = ("tau_syn_ex", "tau_syn_in", "E_L", "V_th", "V_reset", "t_ref")


def cuba_neurons(neurons: int, model: dict[str, float]) -> Any:
    """Create the neurons of benchmark 2, between reset and threshold."""
    fields = {name: model[name] for name in (*FIELDS, "tau_m")}
    group = nest.Create("iaf_psc_exp", neurons, params={**fields, "C_m": model["tau_m"]})
    group.V_m = nest.random.uniform(min=model["V_reset"], max=model["V_th"])
    return group


def coba_neurons(neurons: int, model: dict[str, float]) -> Any:
    """Create the neurons of benchmark 1, with conductances to begin with."""
    fields = {name: model[name] for name in (*FIELDS, "C_m", "g_L", "E_ex", "E_in")}
    group = nest.Create("iaf_cond_exp", neurons, params=fields)
    group.V_m = nest.random.normal(model["V_mean"], model["V_sd"])
    for g in ("g_ex", "g_in"):
        drawn = nest.random.normal(model[f"{g}_mean"], model[f"{g}_sd"])
        group.set({g: nest.math.max(drawn, 0.0)})
    return group


NEURONS = {"cuba": cuba_neurons, "coba": coba_neurons}


def build_network(name: str, neurons: int, model: dict[str, float], seed: int, threads: int) -> Any:
    """Create the neurons and synapses of Brette et al. (2007); return the neurons."""
    nest.ResetKernel()
    nest.set(resolution=model["dt"], rng_seed=seed + 1, local_num_threads=threads)
    group = NEURONS[name](neurons, model)
    excitatory = round(model["excitatory_fraction"] * neurons)
    inputs = min(model["inputs_per_neuron"], neurons)
    weights = model["weight_ex"], -abs(model["weight_in"])
    for sources, weight in zip((group[:excitatory], group[excitatory:]), weights, strict=True):
        rule = {"rule": "fixed_total_number", "N": round(len(sources) * inputs)}
        nest.Connect(sources, group, rule, {"weight": weight, "delay": model["dt"]})
    return group


def serve(request: dict[str, Any]) -> None:
    """Build, then simulate `steps` steps per line of stdin, continuing each time.

    At the end of stdin write the spikes, where asked to.
    """
    nest.verbosity = nest.VerbosityLevel.ERROR
    threads, dt = request["threads"], request["model"]["dt"]
    network = request["network"], request["neurons"], request["model"]
    group = build_network(*network, request["seed"], threads)
    recorder = nest.Create("spike_recorder") if request.get("record") else None
    if recorder is not None:
        nest.Connect(group, recorder)
    nest.Prepare()
    reply({"ready": {"nest": nest.__version__, "threads": threads}})
    for _ in sys.stdin:
        start = time.perf_counter()
        nest.Run(request["steps"] * dt)
        seconds = time.perf_counter() - start
        reply({"seconds": seconds, "spikes": int(nest.local_spike_counter)})
    if recorder is not None:
        # NEST's time of a spike is the end of its step.
        steps = np.round(np.asarray(recorder.events["times"]) / dt).astype(np.int64) - 1
        ids = np.asarray(recorder.events["senders"]) - group[0].global_id
        np.savez(request["record"], times=steps, ids=ids)


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
