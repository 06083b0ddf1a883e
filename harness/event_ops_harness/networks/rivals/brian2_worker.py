"""A balanced network in Brian2; the protocol is in ``shared/rivals.py``.

Every wish repeats the same simulated stretch: a standalone program always starts at time 0.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import brian2
import numpy as np
from brian2 import Hz, Network, NeuronGroup, SpikeMonitor, Synapses, defaultclock, ms, mV, nS, pA, pF


@dataclass(frozen=True)
class Neurons:
    """Declare the neurons of one network."""

    equations: str
    method: str
    weight_unit: Any
    start: dict[str, str]
    learns: bool = False


NEURONS = {
    "cuba": Neurons(
        """
        dv/dt  = (ge + gi - (v - E_L)) / tau_m : volt (unless refractory)
        dge/dt = -ge / tau_syn_ex : volt
        dgi/dt = -gi / tau_syn_in : volt
        """,
        "exact",
        mV,
        {"v": "V_reset + rand() * (V_th - V_reset)"},
    ),
    # In V the equation is linear: with conductances that are constant over a step this method is exact.
    "coba": Neurons(
        """
        dv/dt  = (g_L * (E_L - v) + ge * (E_ex - v) + gi * (E_in - v)) / C_m : volt (unless refractory)
        dge/dt = -ge / tau_syn_ex : siemens
        dgi/dt = -gi / tau_syn_in : siemens
        """,
        "exponential_euler",
        nS,
        {
            "v": "V_mean + V_sd * randn()",
            "ge": "clip(g_ex_mean + g_ex_sd * randn(), 0 * siemens, inf * siemens)",
            "gi": "clip(g_in_mean + g_in_sd * randn(), 0 * siemens, inf * siemens)",
        },
    ),
    # As in Brian2's example Vogels_et_al_2011, but for the first potentials, which are all alike there.
    "inhibitory_stdp": Neurons(
        """
        dv/dt  = (g_L * (E_L - v) + ge * (E_ex - v) + gi * (E_in - v) + I_e) / C_m : volt (unless refractory)
        dge/dt = -ge / tau_syn_ex : siemens
        dgi/dt = -gi / tau_syn_in : siemens
        """,
        "euler",
        nS,
        {"v": "V_reset + rand() * (V_th - V_reset)"},
        learns=True,
    ),
}

INHIBITORY_STDP = {
    "model": """
        w : siemens
        eta : siemens (shared)
        dsource/dt = -source / tau_stdp : 1 (event-driven)
        dtarget/dt = -target / tau_stdp : 1 (event-driven)
        """,
    "on_pre": """
        source += 1
        w = clip(w + eta * (target - 2 * rate_target * tau_stdp), 0 * siemens, w_max)
        gi += w
        """,
    "on_post": """
        target += 1
        w = clip(w + eta * source, 0 * siemens, w_max)
        """,
}


def with_units(model: dict[str, float], weight_unit: Any) -> dict[str, Any]:
    """Return the model's fields as quantities, but for fields without a unit."""
    # By the first letter: E_L, V_th, tau_m, dt, onset, g_L, C_m, I_e, rate_target, weight_ex, learning_rate.
    units = {"E": mV, "V": mV, "t": ms, "d": ms, "o": ms, "g": nS, "C": pF, "I": pA, "r": Hz}
    units |= {"w": weight_unit, "l": weight_unit}
    return {name: value * units[name[0]] for name, value in model.items() if name[0] in units}


def build_network(name: str, neurons: int, model: dict[str, float], *, record: bool) -> Network:
    """Return the network of Brette et al. (2007), with the model's fields as constants."""
    kind = NEURONS[name]
    constants = with_units(model, kind.weight_unit)
    defaultclock.dt = constants.pop("dt")
    group = NeuronGroup(
        neurons,
        kind.equations,
        threshold="v > V_th",
        reset="v = V_reset",
        refractory=constants.pop("t_ref"),
        method=kind.method,
        namespace=constants,
    )
    for variable, value in kind.start.items():
        setattr(group, variable, value)
    probability = min(1.0, model["inputs_per_neuron"] / neurons)
    excitatory = round(model["excitatory_fraction"] * neurons)
    ex = Synapses(group, group, on_pre="ge += weight_ex", namespace=constants)
    inh = Synapses(group, group, on_pre="gi += weight_in", namespace=constants)
    ex.connect(f"i < {excitatory}", p=probability)
    network = Network(group, ex, inh, SpikeMonitor(group, record=record, name="monitor"))
    if not kind.learns:
        inh.connect(f"i >= {excitatory}", p=probability)
        return network
    inh.connect(f"i >= {excitatory} and j >= {excitatory}", p=probability)
    plastic = Synapses(group, group, **INHIBITORY_STDP, namespace=constants, name="plastic")
    plastic.connect(f"i >= {excitatory} and j < {excitatory}", p=probability)
    # The rate changes once, at the onset: there is no need to look more often.
    plastic.run_regularly("eta = learning_rate * int(t >= onset)", dt=constants["onset"])
    network.add(plastic)
    return network


def standalone(request: dict[str, Any], folder: str) -> tuple[Network, Callable[[], None]]:
    """Return the network as a program of C++, compiled, and a function that runs it once."""
    if request["threads"] > 1:
        brian2.prefs.devices.cpp_standalone.openmp_threads = request["threads"]
    # Built below by hand: otherwise a run would compile again.
    brian2.set_device("cpp_standalone", directory=folder, build_on_run=False)
    network, duration = built(request)
    network.run(duration)
    device = brian2.device
    device.build(directory=folder, compile=True, run=False)
    return network, lambda: device.run(directory=folder, with_output=False, run_args=[])


def in_cython(request: dict[str, Any]) -> tuple[Network, Callable[[], None]]:
    """Return the network in Cython, called by Python in every step, and a function that runs it once."""
    brian2.prefs.codegen.target = "cython"
    network, duration = built(request)
    network.store()

    def again() -> None:
        network.restore()
        network.run(duration)

    return network, again


def built(request: dict[str, Any]) -> tuple[Network, Any]:
    """Return the network, and the stretch to simulate."""
    model, record = request["model"], bool(request.get("record"))
    brian2.seed(request["seed"])
    network = build_network(request["network"], request["neurons"], model, record=record)
    return network, request["steps"] * model["dt"] * ms


def serve(request: dict[str, Any]) -> None:
    """Build, compile, then simulate once per line of stdin; at its end write the spikes, where asked to."""
    if request.get("dtype") == "float32":
        brian2.prefs.core.default_float_dtype = np.float32
    folder = tempfile.mkdtemp(prefix="balanced_brian2_")
    try:
        cython = request.get("target") == "cython"
        network, simulate = in_cython(request) if cython else standalone(request, folder)
        threads = 1 if cython else request["threads"]
        reply({"ready": {"brian2": brian2.__version__, "threads": threads}})
        monitor = network["monitor"]
        for _ in sys.stdin:
            simulate()
            reply({"seconds": brian2.device._last_run_time, "spikes": int(monitor.num_spikes)})
        if request.get("record"):
            steps = np.round(np.asarray(monitor.t / ms) / request["model"]["dt"]).astype(np.int64)
            learned: dict[str, Any] = (
                {"w": np.asarray(network["plastic"].w / nS)} if "plastic" in network else {}
            )
            np.savez(request["record"], times=steps, ids=np.asarray(monitor.i), **learned)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reply(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
