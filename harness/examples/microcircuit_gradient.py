"""How the mean rate of a population depends on the background's drive: by a surrogate gradient.

    python harness/examples/microcircuit_gradient.py [--scale 0.02] [--ms 50] [--seeds 4]

d rate / d drive through every step of the scan, averaged over seeds, beside central differences of the rate
with the drive 5 % up and down, averaged over the same seeds and so smooth enough to have a slope.

The surrogate is that of neurons with escape noise, which spike with the probability scale * exp(x / width)
in a step, x mV above threshold. Its scale is the one with which they would spike as often as the network's
neurons do; its width is fitted: at half of it gradients explode, at twice they are halved. One of order 1
counts a neuron near threshold anew in every step, and what goes back through the synapses explodes, too.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from event_ops_harness.networks.microcircuit.connectivity import BACKGROUND, key_of, recurrent_connectivity
from event_ops_harness.networks.microcircuit.delivery import nothing_pending
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.microcircuit.network import State, Wiring, dynamics, initial_state, wiring_of

WIDTH = 0.8  # mV
STEP = 0.05


@dataclass(frozen=True)
class Escape:
    """dS/dx = scale / width * exp(x / width) below threshold, and as at the threshold above."""

    scale: float
    width: float = WIDTH

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.scale / self.width * jnp.exp(jnp.minimum(x, 0) / self.width)


def escape_of(model: Microcircuit, wiring: Wiring, steps: int) -> Escape:
    """Return the escape noise that makes as many spikes as the network in `steps` steps."""
    step = dynamics(model, None)

    def body(state: State, _: None) -> tuple[State, tuple[jax.Array, jax.Array]]:
        state, spikes = step(state, wiring)
        near = jnp.exp(jnp.minimum(state.V_m - model.V_th, 0) / WIDTH)
        return state, (spikes.astype(jnp.float32).mean(), near.mean())

    run = jax.jit(lambda state: jax.lax.scan(body, state, length=steps)[1])
    spikes, near = run(initial_state(model, 1))
    return Escape(float(spikes.mean() / near.mean()))


def rate_of(model: Microcircuit, wiring: Wiring, population: int, steps: int) -> Callable[..., jax.Array]:
    """Return a population's mean rate in Hz over `steps` steps, a function of drive, potentials and seed."""
    step = dynamics(model, None, surrogate=escape_of(model, wiring, steps))
    members = slice(int(model.first[population]), int(model.first[population + 1]))

    def rate(drive: jax.Array, V_m: jax.Array, key: jax.Array) -> jax.Array:
        driven = wiring._replace(seed=key, drive=drive)

        def body(state: State, _: None) -> tuple[State, jax.Array]:
            state, spikes = step(state, driven)
            return state, spikes[members].mean()

        # Spikes that have derivatives are numbers, which are kept as floats until they arrive.
        start = initial_state(model, 1, nothing_pending(model.neurons))._replace(V_m=V_m)
        per_step = jax.lax.scan(body, start, length=steps)[1]
        return per_step.mean() / (model.dt * 1e-3)

    return rate


def slopes(model: Microcircuit, population: int, steps: int, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """By seed: the surrogate gradient, and the central difference, in Hz per unit of drive."""
    wiring = wiring_of(recurrent_connectivity(model, 1), 1)
    rate = rate_of(model, wiring, population, steps)
    value, gradient = jax.jit(rate), jax.jit(jax.grad(rate))
    gradients, differences = [], []
    for seed in seeds:
        state = initial_state(model, seed)
        start = state.V_m, np.uint32(key_of(seed, BACKGROUND))
        gradients.append(float(gradient(jnp.float32(1), *start)))
        up, down = (float(value(jnp.float32(1 + sign * STEP), *start)) for sign in (1, -1))
        differences.append((up - down) / (2 * STEP))
    return np.array(gradients), np.array(differences)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.02)
    parser.add_argument("--ms", type=float, default=50.0)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--population", choices=POPULATIONS, default="L4E")
    options = parser.parse_args()
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale)
    population, steps = POPULATIONS.index(options.population), model.steps(options.ms * 1e-3)
    gradients, differences = slopes(model, population, steps, range(1, options.seeds + 1))
    console = Console()
    for name, values in (("surrogate gradient", gradients), ("central difference", differences)):
        error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else 0.0
        console.print(f"{options.population}: {name}: {values.mean():.3g} ± {error:.2g} Hz per unit of drive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
