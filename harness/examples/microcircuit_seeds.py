"""Eight seeds of the microcircuit at once: `jax.vmap` over initial potentials and background.

    python harness/examples/microcircuit_seeds.py [--seeds 8] [--scale 0.05] [--seconds 0.5]

The network is one, its synapses are stored once; what the seeds differ in are the states.
"""

import argparse
import sys

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from event_ops.network import Network, Record
from event_ops_harness.networks.microcircuit.connectivity import (
    BACKGROUND,
    Synapses,
    key_of,
    recurrent_connectivity,
)
from event_ops_harness.networks.microcircuit.declared import REST, declared
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.microcircuit.network import initial_potentials

DISCARDED = 0.2  # s


def counts_of_seeds(
    model: Microcircuit, synapses: Synapses, seeds: list[int], discarded: int, steps: int
) -> jax.Array:
    """(seeds, neurons): how often each neuron fired in `steps` steps, after `discarded` ones."""
    most = 1 + steps // int(model.t_ref / model.dt)  # of a neuron
    network = declared(model, synapses, Record(spikes=most * model.neurons))
    keys = np.array([key_of(seed, BACKGROUND) for seed in seeds], np.uint32)
    potentials = np.stack([initial_potentials(model, seed) for seed in seeds])

    def counts(V_m: jax.Array, key: jax.Array, network: Network) -> jax.Array:
        state, _ = network.run(network.state({"V_m": V_m, **REST}, seed=key), discarded)
        _, recording = network.run(state, steps)
        return jnp.zeros(model.neurons, jnp.int32).at[recording.ids].add(1, mode="drop")

    return jax.jit(jax.vmap(counts, in_axes=(0, 0, None)))(potentials, keys, network)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale)
    synapses = recurrent_connectivity(model, 1)
    seeds = list(range(1, options.seeds + 1))
    steps = model.steps(options.seconds)
    counts = np.asarray(counts_of_seeds(model, synapses, seeds, model.steps(DISCARDED), steps))
    rates = counts / (steps * model.dt * 1e-3)
    table = Table(title=f"Rates in Hz of {len(seeds)} seeds, one program")
    for heading in ("population", *map(str, seeds), "mean"):
        table.add_column(heading, justify="right")
    for name, first, end in zip(POPULATIONS, model.first[:-1], model.first[1:], strict=True):
        means = rates[:, first:end].mean(axis=1)
        table.add_row(name, *(f"{rate:.2f}" for rate in means), f"{means.mean():.2f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
