"""Microseconds per step of the CUBA network of 4000 neurons, with and without CUDA graphs."""

from __future__ import annotations

import json

import jax

from event_ops_harness.gpu.timing import us_per_step
from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import catalog_step, initial_state, on_device
from ffi_bridge import graph_options

NEURONS = 4000
STEPS = 10_000


def main() -> None:
    """Print the figures as one line of JSON."""
    model = CubaParameters()
    connectivity = random_connectivity(NEURONS, model, seed=0)
    step = catalog_step(connectivity, model, None)
    synapses = on_device(connectivity)
    state = initial_state(connectivity, model, seed=0)
    found = {
        f"CUBA {NEURONS}, {name}, us a step": us_per_step(
            lambda state: step(state, synapses)[0], state, STEPS, options
        )
        for name, options in (("no graph", {}), ("graph", graph_options()))
    }
    spikes = jax.jit(lambda s: jax.lax.scan(lambda s, _: step(s, synapses), s, length=STEPS)[1].count)(state)
    found["spikes per neuron and second"] = float(spikes.sum()) / NEURONS / (STEPS * model.dt * 1e-3)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
