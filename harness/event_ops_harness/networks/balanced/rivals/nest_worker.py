"""The CUBA network in NEST; the protocol is in ``shared/rivals.py``.

``iaf_psc_exp`` with C_m = tau_m has a resistance of 1, so currents in pA are drives in mV.
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

NEURON_FIELDS = ("tau_m", "tau_syn_ex", "tau_syn_in", "E_L", "V_th", "V_reset", "t_ref")


def build_network(neurons: int, model: dict[str, float], seed: int, threads: int) -> None:
    """Create the neurons and synapses of Brette et al. (2007), benchmark 2."""
    nest.ResetKernel()
    nest.set(resolution=model["dt"], rng_seed=seed + 1, local_num_threads=threads)
    fields = {name: model[name] for name in NEURON_FIELDS}
    group = nest.Create("iaf_psc_exp", neurons, params={**fields, "C_m": model["tau_m"]})
    group.V_m = nest.random.uniform(min=model["V_reset"], max=model["V_th"])
    excitatory = round(model["excitatory_fraction"] * neurons)
    inputs = min(model["inputs_per_neuron"], neurons)
    for sources, weight in ((group[:excitatory], "weight_ex"), (group[excitatory:], "weight_in")):
        rule = {"rule": "fixed_total_number", "N": round(len(sources) * inputs)}
        nest.Connect(sources, group, rule, {"weight": model[weight], "delay": model["dt"]})


def serve(request: dict[str, Any]) -> None:
    """Build, then simulate `steps` steps per line of stdin, continuing each time."""
    nest.verbosity = nest.VerbosityLevel.ERROR
    threads = request["threads"]
    build_network(request["neurons"], request["model"], request["seed"], threads)
    duration = request["steps"] * request["model"]["dt"]
    nest.Prepare()
    reply({"ready": {"nest": nest.__version__, "threads": threads}})
    for _ in sys.stdin:
        start = time.perf_counter()
        nest.Run(duration)
        seconds = time.perf_counter() - start
        reply({"seconds": seconds, "spikes": int(nest.local_spike_counter)})


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
