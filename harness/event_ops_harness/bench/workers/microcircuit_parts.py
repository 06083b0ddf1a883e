"""Time a step of the microcircuit and its parts; the protocol is that of ``networks/shared/rivals.py``.

One line of stdin asks for one turn: STEPS steps, then as many with clocks around the operators.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops.discover import operators
from event_ops_harness.bench.clocks import clocked, no_clocks
from event_ops_harness.bench.traffic import beyond_cache, bytes_moved, bytes_per_second
from event_ops_harness.networks.microcircuit.connectivity import Synapses
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import (
    OPERATORS,
    State,
    Wiring,
    capacity_of,
    catalog_step,
    dynamics,
)
from event_ops_harness.networks.microcircuit.rows import SLOTS
from event_ops_harness.networks.rivals.ours import build_microcircuit
from event_ops_harness.networks.shared.worker import counting, counting_scan, timed

# Few enough that no part takes 4 s in all, at which its uint32 of nanoseconds begins anew.
STEPS = 1000
SAMPLED = 20  # of so many steps one is looked at for what its delivery moves

PARTS = {
    "delivery": ("compact_event_arrivals", "spike_compact"),
    "background": ("poisson_input",),
    "neurons": ("lif_expsyn_step",),
}

Turn = Callable[[], dict[str, float]]


def recorded(model: Microcircuit, state: State, wiring: Wiring) -> tuple[State, jax.Array]:
    """Return the state after STEPS steps, and (STEPS, neurons), bool, who spiked in each."""
    move = dynamics(model, None)

    def run(state: State, wiring: Wiring) -> tuple[State, jax.Array]:
        return jax.lax.scan(lambda state, _: move(state, wiring), state, length=STEPS)

    return jax.jit(run)(state, wiring)


def turns_of(model: Microcircuit, state: State, wiring: Wiring) -> Turn:
    """Compile a scan of steps, with clocks and without; return a function that runs both, going on."""
    move, zero = counting(catalog_step(model, None)), jnp.zeros((), jnp.int32)
    with_clocks = clocked(move, OPERATORS)

    def run(carry: Any, clocks: jax.Array, wiring: Wiring) -> Any:
        return jax.lax.scan(lambda x, _: (with_clocks(*x, wiring), None), (carry, clocks), length=STEPS)[0]

    arguments = (state, zero), no_clocks(OPERATORS), wiring
    compiled = jax.jit(run, donate_argnums=(0, 1)).lower(*arguments).compile()
    plain = counting_scan(catalog_step(model, None), STEPS, state, wiring)

    def turn() -> dict[str, float]:
        nonlocal state
        state, without = timed(plain, state, wiring)
        clocks = no_clocks(OPERATORS)
        for _ in range(2):  # the first begins the clock
            # clocks[0] stays: it is the time of the last reading.
            (state, _), clocks = compiled((state, jnp.zeros((), jnp.int32)), clocks.at[1:].set(0), wiring)
        *each, rest = (np.asarray(clocks)[1:] * 1e-9 / STEPS).tolist()
        spent = dict(zip(OPERATORS, each, strict=True))
        parts = {name: sum(spent[x] for x in names) for name, names in PARTS.items()}
        step = sum(spent.values()) + rest
        return {"step": step, **parts, "rest": rest, "without_clocks": without["seconds"] / STEPS}

    return turn


def traffic(model: Microcircuit, wiring: Wiring, raster: np.ndarray) -> dict[str, float]:
    """Count the bytes that each part of a step must move, on average."""
    moved = {x.name: lambda *args, x=x, **kwargs: bytes_moved(x, args, kwargs) for x in operators()}
    numbers, flags, slot = np.zeros(model.neurons, np.float32), raster[0], np.int32(0)
    assert isinstance(wiring.recurrent, Synapses)
    words, square = tuple(map(np.asarray, wiring.recurrent)), (model.neurons, model.neurons)
    parameters = ("tau_m", "tau_syn", "E_L", "V_th", "V_reset", "t_ref", "dt")
    neuron = {name: getattr(model, name) for name in parameters}
    capacity = capacity_of(model.neurons)
    compact = jax.vmap(lambda flags: event_ops.spike_compact(flags, capacity=capacity)[0])
    histories = (np.asarray(compact(raster[t - SLOTS : t])) for t in range(SLOTS, len(raster), SAMPLED))
    arrivals = [
        moved["compact_event_arrivals"](history, *words, slot, shape=square, initial=numbers, encoding="ids")
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
    model, wiring, state, built = build_microcircuit(request)
    state, _ = counting_scan(catalog_step(model, None), request["steps"], state, wiring)(state, wiring)
    state, raster = recorded(model, state, wiring)
    ready = {
        "build_seconds": built,
        "bytes": traffic(model, wiring, np.asarray(raster)),
        "triad": bytes_per_second(beyond_cache()),
    }
    turn = turns_of(model, state, wiring)
    print(json.dumps({"ready": ready}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(turn()), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
