"""Time networks on the GPU, with and without CUDA graphs: `cuba` or `microcircuit`.

They are timed as the workers of their benchmarks time them: a stretch after the other, of which spikes are
counted. Rates are those of the last stretch, in spikes per neuron and second.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from event_ops_harness.networks import cuba
from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.microcircuit import network as microcircuit
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import POPULATIONS, Microcircuit
from event_ops_harness.networks.shared.simulation import Step
from event_ops_harness.networks.shared.worker import counting_scan, timed
from ffi_bridge import graph_options

NEURONS = 4000  # of CUBA
SCALES = (0.1, 1.0)  # of the microcircuit
SECONDS = 1.0  # of model time in a stretch
STRETCHES = 3  # that are measured, after one that is not
SEED = 1


def stretches(
    name: str, step: Step, steps: int, begin: Callable[[], Any], wiring: Any, neurons: int, seconds: float
) -> dict[str, float]:
    """Return, with each kind of launches, the median time of a stretch, and the rate in the last one."""
    figures: dict[str, float] = {}
    for how, options in (("no graph", {}), ("graph", graph_options())):
        # Programs take the memory of the state that they are given: each begins with its own.
        state = begin()
        program = counting_scan(step, steps, state, wiring, compiler_options=options)
        measured: list[dict[str, float]] = []
        for _ in range(1 + STRETCHES):
            state, stretch = timed(program, state, wiring)
            measured.append(stretch)
        took = statistics.median(stretch["seconds"] for stretch in measured[1:])
        figures[f"{name}, {how}, us a step"] = took / steps * 1e6
        figures[f"{name}, {how}, times real time"] = took / seconds
        figures[f"{name}, {how}, Hz"] = measured[-1]["spikes"] / neurons / seconds
    return figures


def balanced(seconds: float) -> dict[str, float]:
    """Time the CUBA network."""
    model = cuba.CubaParameters()
    drawn = random_connectivity(NEURONS, model, seed=0)
    step, begin = cuba.catalog_step(drawn, model, None), partial(cuba.initial_state, drawn, model, seed=0)
    network = step, model.steps(seconds), begin, cuba.on_device(drawn)
    return stretches(f"CUBA {NEURONS}", *network, NEURONS, seconds)


def simulated(scale: float, seconds: float) -> dict[str, Any]:
    """Build the microcircuit once, and time it."""
    model = Microcircuit(N_scaling=scale, K_scaling=scale)
    started = time.perf_counter()
    connectivity = recurrent_connectivity(model, SEED)
    built = time.perf_counter() - started
    wiring = jax.block_until_ready(microcircuit.wiring_of(connectivity, SEED))
    name, begin = f"microcircuit {scale:g}", partial(microcircuit.initial_state, model, SEED)
    network = microcircuit.catalog_step(model, None), model.steps(seconds), begin, wiring
    figures: dict[str, Any] = {f"{name}, synapses": int(model.synapses.sum()), f"{name}, s to build": built}
    figures |= stretches(name, *network, model.neurons, seconds)
    return figures | {f"{name}, {key}": rate for key, rate in rates(model, wiring, seconds).items()}


def rates(model: Microcircuit, wiring: Any, seconds: float) -> dict[str, float]:
    """Return the rate of each population in `seconds`, after as many that are not counted."""
    move, steps = microcircuit.dynamics(model, None), model.steps(seconds)

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        state, spikes = move(carry[0], wiring)
        return (state, carry[1] + spikes.astype(jnp.int32)), None

    def run(state: Any) -> Any:
        counts = jnp.zeros(model.neurons, jnp.int32)
        return jax.lax.scan(step, (state, counts), length=steps)[0]

    program = jax.jit(run)
    state, _ = program(microcircuit.initial_state(model, SEED))
    counts = jax.device_get(program(state)[1])
    ends = model.first
    return {
        f"{population}, Hz": float(counts[low:high].mean() / seconds)
        for population, low, high in zip(POPULATIONS, ends[:-1], ends[1:], strict=True)
    }


def main(argv: list[str] | None = None) -> None:
    """Print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=("cuba", "microcircuit"))
    parser.add_argument("--scales", type=float, nargs="+", default=SCALES)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    if options.network == "cuba":
        figures = balanced(options.seconds)
    else:
        for scale in options.scales:
            figures |= simulated(scale, options.seconds)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
