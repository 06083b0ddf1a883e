"""Time a step of the microcircuit and its parts; the protocol is that of ``networks/shared/rivals.py``.

One line of stdin asks for one turn: the whole step, then its delivery alone, of the spikes of a recorded
stretch, then its background alone, each in a scan of STEPS steps.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops.discover import operators
from event_ops_harness.bench.traffic import beyond_cache, bytes_moved, bytes_per_second
from event_ops_harness.networks.microcircuit.delivery import Synapses, arriving, sent
from event_ops_harness.networks.microcircuit.inputs import background_of
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import (
    State,
    Wiring,
    capacity_of,
    catalog_step,
    dynamics,
)
from event_ops_harness.networks.microcircuit.rivals.event_ops_worker import build
from event_ops_harness.networks.microcircuit.rows import SLOTS
from event_ops_harness.networks.shared.worker import counting, counting_scan

STEPS = 1000
SAMPLED = 20  # of so many steps one is looked at for what its delivery moves

Turn = Callable[[], float]


def recorded(model: Microcircuit, state: State, wiring: Wiring) -> tuple[State, jax.Array]:
    """Return the state after STEPS steps, and (STEPS, neurons), bool, who spiked in each."""
    move = dynamics(model, None)

    def run(state: State, wiring: Wiring) -> tuple[State, jax.Array]:
        return jax.lax.scan(lambda state, _: move(state, wiring), state, length=STEPS)

    return jax.jit(run)(state, wiring)


def turns_of(step: Callable[..., Any], carry: Any, wiring: Wiring, *each: Any) -> Turn:
    """Return what times a step in a scan of `carry = step(carry, wiring, *each)`, on from where it ended."""

    def run(carry: Any, wiring: Wiring, each: Any) -> Any:
        return jax.lax.scan(lambda carry, x: (step(carry, wiring, *x), None), carry, each, length=STEPS)[0]

    compiled = jax.jit(run, donate_argnums=0).lower(carry, wiring, each).compile()
    kept = [jax.block_until_ready(carry)]

    def turn() -> float:
        start = time.perf_counter()
        kept[0] = jax.block_until_ready(compiled(kept[0], wiring, each))
        return (time.perf_counter() - start) / STEPS

    return turn


def programs(model: Microcircuit, state: State, wiring: Wiring, raster: jax.Array) -> dict[str, Turn]:
    """Compile the whole step, and its parts."""
    times, zeros = jnp.arange(STEPS, dtype=jnp.int32), jnp.zeros(model.neurons, jnp.float32)
    step, background = counting(catalog_step(model, None)), background_of(model, None)

    def delivery(
        carry: tuple[jax.Array, jax.Array], wiring: Wiring, spikes: jax.Array, t: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        I_syn, pending = arriving(*carry, wiring.recurrent, t, None)
        return I_syn, sent(pending, wiring.recurrent, spikes, t, None)

    def drawing(I_syn: jax.Array, wiring: Wiring, t: jax.Array) -> jax.Array:
        return background(wiring.drive, wiring.seed, t, I_syn)

    return {
        "delivery": turns_of(delivery, (zeros.copy(), state.pending.copy()), wiring, raster, times),
        "background": turns_of(drawing, zeros, wiring, times),
        "step": turns_of(step, (state, jnp.zeros((), jnp.int32)), wiring),
    }


def traffic(model: Microcircuit, wiring: Wiring, raster: np.ndarray) -> dict[str, float]:
    """Count the bytes that each part of a step must move, on average."""
    moved = {x.name: lambda *args, x=x, **kwargs: bytes_moved(x, args, kwargs) for x in operators()}
    numbers, flags, slot = np.zeros(model.neurons, np.float32), raster[0], np.int32(0)
    assert isinstance(wiring.recurrent, Synapses)
    synapses, square = tuple(map(np.asarray, wiring.recurrent)), (model.neurons, model.neurons)
    parameters = ("tau_m", "tau_syn", "E_L", "V_th", "V_reset", "t_ref", "dt")
    neuron = {name: getattr(model, name) for name in parameters}
    capacity = capacity_of(model.neurons)
    compact = jax.vmap(lambda flags: event_ops.spike_compact(flags, capacity=capacity)[0])
    histories = (np.asarray(compact(raster[t - SLOTS : t])) for t in range(SLOTS, len(raster), SAMPLED))
    arrivals = [
        moved["compact_event_arrivals"](
            history, *synapses, slot, shape=square, initial=numbers, encoding="ids"
        )
        for history in histories
    ]
    neurons = moved["lif_expsyn_step"](numbers, numbers, numbers, **neuron)
    compacted = moved["spike_compact"](flags, capacity=capacity)
    mean = model.per_neuron(model.external_rates) * model.dt * 1e-3
    return {
        "neurons": neurons,
        "delivery": float(np.mean(arrivals)) + compacted,
        "background": moved["poisson_input"](np.float32(1), np.uint32(1), slot, mean=mean, initial=numbers),
    }


def serve(request: dict[str, Any]) -> None:
    """Build, record and compile, then one turn per line of stdin."""
    model, wiring, state, built = build(request)
    state, _ = counting_scan(catalog_step(model, None), request["steps"], state, wiring)(state, wiring)
    state, raster = recorded(model, state, wiring)
    turns = programs(model, state, wiring, raster)
    ready = {
        "build_seconds": built,
        "bytes": traffic(model, wiring, np.asarray(raster)),
        "triad": bytes_per_second(beyond_cache()),
    }
    print(json.dumps({"ready": ready}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({name: turn() for name, turn in turns.items()}), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
