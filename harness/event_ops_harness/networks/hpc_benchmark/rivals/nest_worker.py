"""The network with STDP in NEST, with the models of its example ``hpc_benchmark``.

The protocol is in ``shared/rivals.py``.
"""

import json
import sys
import time
from typing import Any

import nest
import numpy as np

DRIVEN_MV = 100.0  # far above any threshold


def build(model: dict[str, float], seed: int, threads: int) -> tuple[Any, Any]:
    """Create neurons and synapses; return the excitatory and the inhibitory neurons."""
    nest.ResetKernel()
    nest.set(resolution=model["dt"], rng_seed=seed + 1, local_num_threads=threads)
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
    return ex, inh


def serve(request: dict[str, Any]) -> None:
    """Build, then simulate `steps` steps per line of stdin, continuing each time.

    At the end of stdin write spikes and weights, where asked to.
    """
    nest.verbosity = nest.VerbosityLevel.ERROR
    threads, model = request["threads"], request["model"]
    ex, inh = build(model, request["seed"], threads)
    recorder = nest.Create("spike_recorder") if request.get("record") else None
    if recorder is not None:
        nest.Connect(ex + inh, recorder)
    nest.Prepare()
    reply({"ready": {"nest": nest.__version__, "threads": threads}})
    for _ in sys.stdin:
        start = time.perf_counter()
        nest.Run(request["steps"] * model["dt"])
        seconds = time.perf_counter() - start
        reply({"seconds": seconds, "spikes": int(nest.local_spike_counter)})
    if recorder is not None:
        # NEST's time of a spike is the end of its step.
        steps = np.round(np.asarray(recorder.events["times"]) / model["dt"]).astype(np.int64) - 1
        ids = np.asarray(recorder.events["senders"]) - ex[0].global_id
        # A synapse is brought up to date when its source spikes, and NEST delivers this one delay later.
        ex.V_m = DRIVEN_MV
        nest.Run(model["delay"] + model["dt"])
        some = nest.GetConnections(source=ex[: request["sources"]], synapse_model="learning")
        np.savez(request["record"], times=steps, ids=ids, w=np.asarray(some.get("weight")))


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
