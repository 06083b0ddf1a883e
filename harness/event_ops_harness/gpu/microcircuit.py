"""Real time of the cortical microcircuit on the GPU, with and without CUDA graphs; spikes are counted.

Rates are those of the populations in the last stretch, in spikes per neuron and second.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp

from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.microcircuit.network import catalog_step, dynamics, initial_state, wiring_of
from event_ops_harness.networks.shared.worker import counting_scan, timed
from ffi_bridge import graph_options

SCALES = (0.1, 1.0)
SECONDS = 1.0  # of model time in a stretch
STRETCHES = 3  # that are measured, after one that is not
SEED = 1


def main(argv: list[str] | None = None) -> None:
    """Print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=float, nargs="+", default=SCALES)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args(argv)
    found: dict[str, Any] = {}
    for scale in options.scales:
        found |= simulated(scale, options.seconds)
    print(json.dumps(found))


def simulated(scale: float, seconds: float) -> dict[str, Any]:
    """Build the network once, and time a stretch of it with each kind of launches."""
    model = Microcircuit(N_scaling=scale, K_scaling=scale)
    started = time.perf_counter()
    connectivity = recurrent_connectivity(model, SEED)
    built = time.perf_counter() - started
    wiring = jax.block_until_ready(wiring_of(connectivity, SEED))
    steps, name, step = model.steps(seconds), f"microcircuit {scale:g}", catalog_step(model, None)
    found: dict[str, Any] = {f"{name}, synapses": connectivity.synapses, f"{name}, s to build": built}
    for how, options in (("no graph", {}), ("graph", graph_options())):
        state = initial_state(model, SEED)
        program = counting_scan(step, steps, state, wiring, compiler_options=options)
        stretches = []
        for _ in range(1 + STRETCHES):
            state, stretch = timed(program, state, wiring)
            stretches.append(stretch)
        took = statistics.median(stretch["seconds"] for stretch in stretches[1:])
        found[f"{name}, {how}, us a step"] = took / steps * 1e6
        found[f"{name}, {how}, times real time"] = took / seconds
        found[f"{name}, {how}, Hz"] = stretches[-1]["spikes"] / model.neurons / seconds
    return found | {f"{name}, {key}": rate for key, rate in rates(model, wiring, seconds).items()}


def rates(model: Microcircuit, wiring: Any, seconds: float) -> dict[str, float]:
    """Return the rate of each population after half a second."""
    move, steps = dynamics(model, None), model.steps(seconds)

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        state, spikes = move(carry[0], wiring)
        return (state, carry[1] + spikes.astype(jnp.int32)), None

    def run(state: Any) -> Any:
        counts = jnp.zeros(model.neurons, jnp.int32)
        return jax.lax.scan(step, (state, counts), length=steps)[0]

    program = jax.jit(run)
    state, _ = program(initial_state(model, SEED))
    counts = jax.device_get(program(state)[1])
    ends = model.first
    return {
        f"{population}, Hz": float(counts[low:high].mean() / seconds)
        for population, low, high in zip(POPULATIONS, ends[:-1], ends[1:], strict=True)
    }


if __name__ == "__main__":
    main()
