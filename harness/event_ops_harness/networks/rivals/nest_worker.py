"""The networks in NEST; the protocol is in ``shared/rivals.py``.

CUBA: ``iaf_psc_exp`` with C_m = tau_m has a resistance of 1, so currents in pA are drives in mV.
COBA: ``iaf_cond_exp``, in which a negative weight adds to the inhibitory conductance.
NEST has no zero delay: in both, spikes arrive one time step later, the shortest delay it knows, and it
exchanges spikes once per shortest delay, so there at every step.
The number of their synapses is the expected one of the random network, since NEST looks at every pair of
neurons for a probability: hours at 400,000 neurons.
hpc_benchmark: the models are those of NEST's example.
"""

import json
import math
import sys
import time
from typing import Any

import nest
import numpy as np

FIELDS = ("tau_syn_ex", "tau_syn_in", "E_L", "V_th", "V_reset", "t_ref")
DRIVEN_MV = 100.0  # far above any threshold


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


def balanced(request: dict[str, Any]) -> list[Any]:
    """Create the neurons and synapses of Brette et al. (2007)."""
    neurons, model = request["neurons"], request["model"]
    group = (cuba_neurons if request["network"] == "cuba" else coba_neurons)(neurons, model)
    excitatory = round(model["excitatory_fraction"] * neurons)
    inputs = min(model["inputs_per_neuron"], neurons)
    weights = model["weight_ex"], -abs(model["weight_in"])
    for sources, weight in zip((group[:excitatory], group[excitatory:]), weights, strict=True):
        rule = {"rule": "fixed_total_number", "N": round(len(sources) * inputs)}
        nest.Connect(sources, group, rule, {"weight": weight, "delay": model["dt"]})
    return [group]


def hpc_benchmark(request: dict[str, Any]) -> list[Any]:
    """Create neurons and synapses; synapses between excitatory neurons learn."""
    model = request["model"]
    fields = {name: model[name] for name in ("C_m", "tau_m", "t_ref", "V_th", "V_reset", "tau_minus")}
    fields |= {"E_L": 0.0, "tau_syn_ex": model["tau_syn"], "tau_syn_in": model["tau_syn"]}
    counts = model["excitatory"], model["inhibitory"]
    ex, inh = (nest.Create("iaf_psc_alpha", n, params=fields) for n in counts)
    for group in (ex, inh):
        group.V_m = nest.random.normal(model["V_mean"], model["V_sd"])
    outside = nest.Create("poisson_generator", params={"rate": model["rate_outside"]})
    weight, delay = model["weight"], model["delay"]
    rule = {"alpha": model["alpha"], "lambda": model["lam"], "mu": model["mu"], "tau_plus": model["tau_plus"]}
    nest.CopyModel("static_synapse_hpc", "excitatory", {"weight": weight, "delay": delay})
    nest.CopyModel("static_synapse_hpc", "inhibitory", {"weight": model["g"] * weight, "delay": delay})
    nest.CopyModel("stdp_pl_synapse_hom_hpc", "learning", {**rule, "weight": weight, "delay": delay})
    nest.Connect(outside, ex + inh, "all_to_all", {"synapse_model": "excitatory"})
    kinds = (ex, ex, "learning"), (ex, inh, "excitatory"), (inh, ex, "inhibitory"), (inh, inh, "inhibitory")
    for sources, targets, kind in kinds:
        inputs = {"rule": "fixed_indegree", "indegree": len(sources)}
        drawn = {**inputs, "allow_autapses": False, "allow_multapses": True}
        nest.Connect(sources, targets, drawn, {"synapse_model": kind})
    return [ex, inh]


def microcircuit(request: dict[str, Any]) -> list[Any]:
    """Create the populations, with fixed total numbers of synapses, and one Poisson generator for each.

    Weights are normal and of one sign, delays normal and of at least one step; a generator sends each neuron
    spikes of its own.
    """
    populations, dt = request["populations"], request["model"]["dt"]
    groups = [
        nest.Create("iaf_psc_exp", size, {**populations["neuron"], "I_e": I_dc})
        for size, I_dc in zip(populations["sizes"], populations["I_dc"], strict=True)
    ]
    for group, mean, sd in zip(groups, populations["V_mean"], populations["V_sd"], strict=True):
        group.V_m = nest.random.normal(mean, sd)
    for target, row in enumerate(populations["synapses"]):
        for source, synapses in enumerate(row):
            if synapses == 0:
                continue
            weight, delay = populations["weights"][target][source], populations["delays"][source]
            bounds = {"min": 0.0, "max": math.inf} if weight > 0 else {"min": -math.inf, "max": 0.0}
            normal = nest.random.normal(weight, abs(weight) * populations["weight_rel_sd"])
            delays = nest.random.normal(delay, delay * populations["delay_rel_sd"])
            synapse = {
                "weight": nest.math.redraw(normal, **bounds),
                "delay": nest.math.redraw(delays, min=0.5 * dt, max=math.inf),
            }
            rule = {"rule": "fixed_total_number", "N": synapses}
            nest.Connect(groups[source], groups[target], rule, synapse)
    for group, rate in zip(groups, populations["external_rates"], strict=True):
        if rate > 0:
            generator = nest.Create("poisson_generator", params={"rate": rate})
            # Any delay will do: a Poisson process looks the same later.
            nest.Connect(generator, group, "all_to_all", {"weight": populations["weight_ext"], "delay": 1.5})
    return groups


NETWORKS = {"coba": balanced, "cuba": balanced, "hpc_benchmark": hpc_benchmark, "microcircuit": microcircuit}


def learned(groups: list[Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return the weights from the first `sources` neurons, up to date."""
    model = request["model"]
    # A synapse is brought up to date when its source spikes, and NEST delivers this one delay later.
    groups[0].V_m = DRIVEN_MV
    nest.Run(model["delay"] + model["dt"])
    some = nest.GetConnections(source=groups[0][: request["sources"]], synapse_model="learning")
    return {"w": np.asarray(some.get("weight"))}


def serve(request: dict[str, Any]) -> None:
    """Build, then simulate `steps` steps per line of stdin, continuing each time.

    At the end of stdin write the spikes, where asked to, by step and id, and weights that were learned.
    """
    nest.verbosity = nest.VerbosityLevel.ERROR
    name, threads, dt = request["network"], request["threads"], request["model"]["dt"]
    start = time.perf_counter()
    nest.ResetKernel()
    # NEST takes no seed of 0.
    nest.set(resolution=dt, rng_seed=request["seed"] + 1, local_num_threads=threads)
    groups = NETWORKS[name](request)
    recorder = nest.Create("spike_recorder") if request.get("record") else None
    for group in groups if recorder is not None else ():
        nest.Connect(group, recorder)
    # Prepare and Run: Simulate would prepare, and clean up, in every round.
    nest.Prepare()
    built = {"build_seconds": time.perf_counter() - start} if name == "microcircuit" else {}
    reply({"ready": {"nest": nest.__version__, "threads": threads, **built}})
    for _ in sys.stdin:
        start = time.perf_counter()
        nest.Run(request["steps"] * dt)
        seconds = time.perf_counter() - start
        reply({"seconds": seconds, "spikes": int(nest.local_spike_counter)})
    if recorder is not None:
        # NEST's time of a spike is the end of its step.
        steps = np.round(np.asarray(recorder.events["times"]) / dt).astype(np.int64) - 1
        ids = (np.asarray(recorder.events["senders"]) - groups[0][0].global_id).astype(np.int32)
        order = np.lexsort((ids, steps))
        weights: dict[str, Any] = learned(groups, request) if name == "hpc_benchmark" else {}
        np.savez(request["record"], times=steps[order], ids=ids[order], **weights)


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
