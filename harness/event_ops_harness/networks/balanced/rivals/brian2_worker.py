"""The CUBA network in Brian2's C++ standalone mode; the protocol is in ``shared/rivals.py``.

A standalone program always starts at time 0; every wish repeats the same simulated stretch.
"""

import json
import shutil
import sys
import tempfile
from typing import Any

import brian2
import numpy as np
from brian2 import Network, NeuronGroup, SpikeMonitor, Synapses, defaultclock, ms, mV

EQUATIONS = """
dv/dt  = (ge + gi - (v - E_L)) / tau_m : volt (unless refractory)
dge/dt = -ge / tau_syn_ex : volt
dgi/dt = -gi / tau_syn_in : volt
"""


def build_network(neurons: int, model: dict[str, float], *, record: bool) -> Network:
    """Return the network of Brette et al. (2007), benchmark 2, with the model's fields as constants."""
    unit = {name: value * (ms if name[0] in "td" else mV) for name, value in model.items()}
    constants = {k: unit[k] for k in ("tau_m", "tau_syn_ex", "tau_syn_in", "E_L", "V_th", "V_reset")}
    constants |= {k: unit[k] for k in ("weight_ex", "weight_in")}
    defaultclock.dt = unit["dt"]
    group = NeuronGroup(
        neurons,
        EQUATIONS,
        threshold="v > V_th",
        reset="v = V_reset",
        refractory=unit["t_ref"],
        method="exact",
        namespace=constants,
    )
    group.v = "V_reset + rand() * (V_th - V_reset)"
    probability = min(1.0, model["inputs_per_neuron"] / neurons)
    excitatory = round(model["excitatory_fraction"] * neurons)
    ex = Synapses(group, group, on_pre="ge += weight_ex", namespace=constants)
    inh = Synapses(group, group, on_pre="gi += weight_in", namespace=constants)
    ex.connect(f"i < {excitatory}", p=probability)
    inh.connect(f"i >= {excitatory}", p=probability)
    monitor = SpikeMonitor(group, record=record, name="monitor")
    return Network(group, ex, inh, monitor)


def serve(request: dict[str, Any]) -> None:
    """Build, compile, then run the binary once per line of stdin."""
    model = request["model"]
    folder = tempfile.mkdtemp(prefix="cuba_brian2_")
    if request.get("dtype") == "float32":
        brian2.prefs.core.default_float_dtype = np.float32
    if request["threads"] > 1:
        brian2.prefs.devices.cpp_standalone.openmp_threads = request["threads"]
    brian2.set_device("cpp_standalone", directory=folder, build_on_run=False)
    brian2.seed(request["seed"])
    network = build_network(request["neurons"], model, record=False)
    network.run(request["steps"] * model["dt"] * ms)
    device = brian2.device
    device.build(directory=folder, compile=True, run=False)
    reply({"ready": {"brian2": brian2.__version__, "threads": request["threads"]}})
    try:
        for _ in sys.stdin:
            device.run(directory=folder, with_output=False, run_args=[])
            reply({"seconds": device._last_run_time, "spikes": int(network["monitor"].num_spikes)})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
