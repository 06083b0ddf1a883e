"""What the worker in NEST is told of a network."""

from typing import Any

import numpy as np

from event_ops_harness.networks.microcircuit.model import EXCITATORY, V_MEAN, V_SD, Microcircuit


def nest_request(model: Microcircuit) -> dict[str, Any]:
    """The network in numbers that JSON takes; matrices are target by source."""
    neuron = {name: getattr(model, name) for name in ("C_m", "tau_m", "E_L", "V_th", "V_reset", "t_ref")}
    arrays = {
        "sizes": model.sizes,
        "synapses": model.synapses,
        "weights": model.weights,
        "delays": np.where(EXCITATORY, model.delay_ex, model.delay_in),
        "external_rates": model.external_rates,
        "I_dc": model.I_dc,
        "V_mean": V_MEAN,
        "V_sd": V_SD,
    }
    return {
        "neuron": {**neuron, "tau_syn_ex": model.tau_syn, "tau_syn_in": model.tau_syn},
        "dt": model.dt,
        "weight_ext": model.weight_ext,
        "weight_rel_sd": model.weight_rel_sd,
        "delay_rel_sd": model.delay_rel_sd,
        **{name: array.tolist() for name, array in arrays.items()},
    }
