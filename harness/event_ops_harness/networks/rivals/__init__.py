"""Simulators of the networks, ours and foreign, as rivals; the protocol is in ``shared/rivals.py``.

Each is asked for: network, its name; steps, seed, threads, and model, the fields of its parameters, with
neurons where they are not among these. With `record`, a path, Brian2 and NEST write there the steps and ids
of the spikes at the end of their input, and the weights of networks that learn: in the NEST of
`hpc_benchmark` those from the first `sources` neurons.
"""

from pathlib import Path
from typing import Any, Final

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.microcircuit.model import V_MEAN, V_SD, Microcircuit
from event_ops_harness.networks.shared.rivals import Rival

_OURS: Final = ("-m", f"{__name__}.ours")
_BRIAN2: Final = (str(Path(__file__).with_name("brian2_worker.py")),)
OURS: Final = Rival("event-ops", _OURS, ours=True)
CATALOG: Final = Rival("event-ops, catalog operators", _OURS, ours=True)
ONE_CALL: Final = Rival("event-ops, one call", _OURS, {"one_call": True}, ours=True)
STANDALONE: Final = Rival("Brian2 C++ standalone", _BRIAN2)
FLOAT32: Final = Rival("Brian2 C++ standalone, float32", _BRIAN2, {"dtype": "float32"})
CYTHON: Final = Rival("Brian2 Cython", _BRIAN2, {"target": "cython"})
NEST: Final = Rival("NEST", (str(Path(__file__).with_name("nest_worker.py")),))

# Records are read with the first of a group as ours.
RIVALS: Final = {
    "coba": (ONE_CALL, CATALOG, STANDALONE, FLOAT32, CYTHON, NEST),
    "cuba": (ONE_CALL, CATALOG, STANDALONE, FLOAT32, CYTHON, NEST),
    "hpc_benchmark": (OURS, NEST),
    "inhibitory_stdp": (OURS, STANDALONE),
    "microcircuit": (ONE_CALL, OURS, NEST),
}


def hpc_benchmark_request(model: HpcBenchmark, seed: int, seconds: float, threads: int) -> dict[str, Any]:
    """Return the request for the network with STDP; `model` has numbers that follow from it, too."""
    names = ("excitatory", "inhibitory", "weight", "rate_outside")
    return {
        "network": "hpc_benchmark",
        "model": vars(model) | {name: getattr(model, name) for name in names},
        "seed": seed,
        "steps": model.steps(seconds),
        "threads": threads,
    }


def microcircuit_request(model: Microcircuit, seed: int, steps: int, threads: int) -> dict[str, Any]:
    """Return the request for the microcircuit; NEST reads `populations`, in which rows are targets."""
    neuron = {name: getattr(model, name) for name in ("C_m", "tau_m", "E_L", "V_th", "V_reset", "t_ref")}
    arrays = {
        "sizes": model.sizes,
        "synapses": model.synapses,
        "weights": model.weights,
        "delays": model.delays,
        "external_rates": model.external_rates,
        "I_dc": model.I_dc,
        "V_mean": V_MEAN,
        "V_sd": V_SD,
    }
    populations = {
        "neuron": {**neuron, "tau_syn_ex": model.tau_syn, "tau_syn_in": model.tau_syn},
        "weight_ext": model.weight_ext,
        "weight_rel_sd": model.weight_rel_sd,
        "delay_rel_sd": model.delay_rel_sd,
        **{name: array.tolist() for name, array in arrays.items()},
    }
    return {
        "network": "microcircuit",
        "model": {"N_scaling": model.N_scaling, "K_scaling": model.K_scaling, "dt": model.dt},
        "populations": populations,
        "seed": seed,
        "steps": steps,
        "threads": threads,
    }
