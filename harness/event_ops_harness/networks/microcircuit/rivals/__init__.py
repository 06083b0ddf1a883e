"""The microcircuit as rivals: on our operators, and in NEST; the protocol is in ``shared/rivals.py``.

NEST is asked for the `network` of `nest_request`. With `record`, a path, it writes there the steps and ids of
the spikes, at the end of its input.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np

from event_ops_harness.networks.microcircuit.model import EXCITATORY, V_MEAN, V_SD, Microcircuit
from event_ops_harness.networks.shared.rivals import Rival

OURS: Final = Rival("event-ops", ("-m", f"{__name__}.event_ops_worker"), ours=True)
NEST: Final = Rival("NEST", (str(Path(__file__).with_name("nest_worker.py")),))


def nest_request(model: Microcircuit) -> dict[str, Any]:
    """Describe the network to the worker in NEST, in lists of numbers; matrices are target by source."""
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
