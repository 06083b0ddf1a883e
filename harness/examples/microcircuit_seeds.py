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

from event_ops_harness.networks.microcircuit.connectivity import BACKGROUND, key_of, recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.microcircuit.network import State, Wiring, dynamics, initial_state, wiring_of

DISCARDED = 0.2  # s


def counts_of_seeds(
    model: Microcircuit, wiring: Wiring, seeds: list[int], discarded: int, steps: int
) -> jax.Array:
    """(seeds, neurons): how often each neuron fired in `steps` steps, after `discarded` ones."""
    step = dynamics(model, None)
    states = [initial_state(model, seed) for seed in seeds]
    keys = np.array([key_of(seed, BACKGROUND) for seed in seeds], np.uint32)
    V_m = jnp.stack([state.V_m for state in states])

    def counts(V_m: jax.Array, key: jax.Array, wiring: Wiring) -> jax.Array:
        seeded = wiring._replace(seed=key)

        def body(carry: tuple[State, jax.Array], _: None) -> tuple[tuple[State, jax.Array], None]:
            state, fired = carry
            state, spikes = step(state, seeded)
            return (state, fired + (spikes & (state.t > discarded)).astype(jnp.int32)), None

        # Of the first states only the potentials differ.
        start = states[0]._replace(V_m=V_m), jnp.zeros(model.neurons, jnp.int32)
        return jax.lax.scan(body, start, length=discarded + steps)[0][1]

    return jax.jit(jax.vmap(counts, in_axes=(0, 0, None)))(V_m, keys, wiring)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale)
    wiring = wiring_of(recurrent_connectivity(model, 1), 1)
    seeds = list(range(1, options.seeds + 1))
    steps = model.steps(options.seconds)
    counts = np.asarray(counts_of_seeds(model, wiring, seeds, model.steps(DISCARDED), steps))
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
