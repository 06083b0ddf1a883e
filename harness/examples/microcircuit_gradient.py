"""How the mean rate of a population depends on the background's drive: by a surrogate gradient.

    python harness/examples/microcircuit_gradient.py [--scale 0.02] [--ms 50] [--seeds 4]

d rate / d drive through every step of the scan, averaged over seeds, beside central differences of the rate
with the drive 5 % up and down, averaged over the same seeds and so smooth enough to have a slope.
"""

import argparse
import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from event_ops.surrogate import atan
from event_ops_harness.microcircuit.connectivity import BACKGROUND, key_of, recurrent_connectivity
from event_ops_harness.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.microcircuit.network import State, Wiring, dynamics, initial_state, wiring_of

SURROGATE = atan(alpha=0.2)  # 6 mV wide at half its peak: about what the input makes V move
STEP = 0.05


def rate_of(model: Microcircuit, wiring: Wiring, population: int, steps: int) -> Callable[..., jax.Array]:
    """The mean rate in Hz of a population in so many steps, as a function of drive and seed."""
    step = dynamics(model, None, surrogate=SURROGATE)
    own = slice(int(model.first[population]), int(model.first[population + 1]))

    def rate(drive: jax.Array, V_m: jax.Array, key: jax.Array) -> jax.Array:
        driven = wiring._replace(seed=key, drive=drive)

        def body(state: State, _: None) -> tuple[State, jax.Array]:
            state, spikes = step(state, driven)
            return state, spikes[own].mean()

        start = initial_state(model, 1)._replace(V_m=V_m)
        per_step = jax.lax.scan(body, start, length=steps)[1]
        return per_step.mean() / (model.dt * 1e-3)

    return rate


def slopes(model: Microcircuit, population: int, steps: int, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """By seed: the surrogate gradient, and the central difference, in Hz per unit of drive."""
    wiring = wiring_of(recurrent_connectivity(model, 1), 1)
    rate = rate_of(model, wiring, population, steps)
    value, gradient = jax.jit(rate), jax.jit(jax.grad(rate))
    found, differences = [], []
    for seed in seeds:
        state = initial_state(model, seed)
        own = state.V_m, np.uint32(key_of(seed, BACKGROUND))
        found.append(float(gradient(jnp.float32(1), *own)))
        up, down = (float(value(jnp.float32(1 + sign * STEP), *own)) for sign in (1, -1))
        differences.append((up - down) / (2 * STEP))
    return np.array(found), np.array(differences)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.02)
    parser.add_argument("--ms", type=float, default=50.0)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--population", choices=POPULATIONS, default="L4E")
    options = parser.parse_args()
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale)
    population, steps = POPULATIONS.index(options.population), model.steps(options.ms * 1e-3)
    found, differences = slopes(model, population, steps, range(1, options.seeds + 1))
    console = Console()
    for name, values in (("surrogate gradient", found), ("central difference", differences)):
        error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else 0.0
        console.print(f"{options.population}: {name}: {values.mean():.3g} ± {error:.2g} Hz per unit of drive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
