"""One time step of the network, built from the catalog's operators.

The order within a step is that of NEST's ``iaf_psc_exp``: the potential moves by the current of the step
before, the current decays, what arrives now is added to it, then who is above threshold spikes; a spike of
step t with a delay of d steps arrives in step t + d. Background spikes need no delay: a Poisson process
looks the same later.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops_harness.microcircuit.connectivity import BACKGROUND, PULSE, Connectivity, key_of
from event_ops_harness.microcircuit.model import V_MEAN, V_SD, Microcircuit
from event_ops_harness.microcircuit.rows import SLOTS

OPERATORS = ("lif_step", "read_slot", "poisson_input", "csr_event_deliver", "spike_compact")


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    refractory: jax.Array  # float32 (N,), ms left
    I_syn: jax.Array  # float32 (N,), pA; one for both signs, since they decay alike
    buffer: jax.Array  # float32 (SLOTS, N), pA that arrive in the next steps
    t: jax.Array  # int32 0-d, the number of the next step


class Synapses(NamedTuple):
    data: jax.Array  # float32 (nse,), pA
    indices: jax.Array  # int32 (nse,)
    indptr: jax.Array  # int32 (sources + 1,)
    delays: jax.Array  # uint8 (nse,), steps


class Wiring(NamedTuple):
    """What a step reads, and does not change."""

    recurrent: Synapses
    thalamic: Synapses | None = None
    seed: jax.Array = np.uint32(0)  # of the background
    drive: jax.Array = np.float32(1)  # times the background's mean: what a gradient is asked for


class Spikes(NamedTuple):
    ids: jax.Array  # int32 (capacity,), ascending; the first `count` of them mean something
    count: jax.Array  # int32 0-d, may exceed the capacity


Step = Callable[[State, Wiring], tuple[State, Spikes]]
Pulse = Callable[[jax.Array], jax.Array]


def capacity_of(neurons: int) -> int:
    """Spikes of one step that are kept; 0.0004 per neuron is usual."""
    return min(neurons, max(64, neurons // 16))


def initial_potentials(model: Microcircuit, seed: int) -> np.ndarray:
    """(neurons,), float32, mV: normal, by population."""
    deviates = np.random.default_rng([seed, 1]).standard_normal(model.neurons)
    return (model.per_neuron(V_MEAN) + model.per_neuron(V_SD) * deviates).astype(np.float32)


def initial_state(model: Microcircuit, seed: int) -> State:
    """Potentials at random, nothing refractory, no current, nothing on its way."""
    n = model.neurons
    return State(
        V_m=jnp.asarray(initial_potentials(model, seed)),
        refractory=jnp.zeros(n, jnp.float32),
        I_syn=jnp.zeros(n, jnp.float32),
        buffer=jnp.zeros((SLOTS, n), jnp.float32),
        t=jnp.zeros((), jnp.int32),
    )


def synapses_of(connectivity: Connectivity) -> Synapses:
    """The CSR parts as JAX arrays, which share the memory of the NumPy ones."""
    parts = connectivity.data, connectivity.indices, connectivity.indptr, connectivity.delays
    return Synapses(*map(jnp.asarray, parts))


def wiring_of(recurrent: Connectivity, seed: int, thalamic: Connectivity | None = None) -> Wiring:
    """What the step reads, for the background of a seed."""
    return Wiring(
        recurrent=synapses_of(recurrent),
        thalamic=None if thalamic is None else synapses_of(thalamic),
        seed=jnp.asarray(np.uint32(key_of(seed, BACKGROUND))),
        drive=jnp.ones((), jnp.float32),
    )


def at_or_above(V_th: float) -> np.float32:
    """The threshold for `lif_step`, which asks for V > V_th where NEST asks for V >= V_th."""
    return np.nextafter(np.float32(V_th), np.float32(-np.inf))


def background_of(model: Microcircuit, backend: str | None) -> Callable[[State, Wiring], jax.Array]:
    """pA that the background adds in a step."""
    rates = model.per_neuron(model.external_rates)
    if not rates.any():
        return lambda state, wiring: jnp.zeros((), jnp.float32)
    mean, weight = rates * model.dt * 1e-3, np.float32(model.weight_ext)

    def background(state: State, wiring: Wiring) -> jax.Array:
        return event_ops.poisson_input(
            weight * wiring.drive, wiring.seed, state.t, mean=mean, backend=backend
        )

    return background


def pulse_of(model: Microcircuit, seed: int, start: float | None, backend: str | None) -> Pulse | None:
    """How often each thalamic neuron spikes in a step: in `thalamic_duration` ms from `start` on."""
    if start is None:
        return None
    first, last = (round(t / model.dt) for t in (start, start + model.thalamic_duration))
    mean = np.full(model.thalamic_neurons, model.thalamic_rate * model.dt * 1e-3)
    key = np.uint32(key_of(seed, PULSE))

    def pulse(t: jax.Array) -> jax.Array:
        spikes = event_ops.poisson_input(np.float32(1), key, t, mean=mean, backend=backend)
        return spikes * ((t >= first) & (t < last)).astype(spikes.dtype)

    return pulse


def catalog_step(
    model: Microcircuit, backend: str | None, *, pulse: Pulse | None = None, capacity: int | None = None
) -> Step:
    """Integrate, take what arrives, deliver the spikes, list them."""
    n, gain = model.neurons, np.float32(model.drive_gain())
    decay = np.float32(math.exp(-model.dt / model.tau_syn))
    constant = jnp.asarray(model.per_neuron(model.I_dc * model.tau_m / model.C_m), jnp.float32)
    neuron = {k: getattr(model, k) for k in ("tau_m", "E_L", "V_reset", "t_ref", "dt")}
    lif_step = partial(event_ops.lif_step, **neuron, V_th=at_or_above(model.V_th), backend=backend)
    background = background_of(model, backend)
    room = capacity_of(n) if capacity is None else capacity

    def deliver(buffer: jax.Array, synapses: Synapses, spikes: jax.Array, t: jax.Array) -> jax.Array:
        data, indices, indptr, delays = synapses
        shape = (indptr.shape[0] - 1, n)
        return event_ops.csr_event_deliver(
            buffer, data, indices, indptr, delays, spikes, t, shape=shape, backend=backend
        )

    def step(state: State, wiring: Wiring) -> tuple[State, Spikes]:
        V_m, refractory, I_syn, buffer, t = state
        arrivals, buffer = event_ops.read_slot(buffer, t, backend=backend)
        V_m, refractory, spikes = lif_step(V_m, refractory, gain * I_syn + constant)
        I_syn = decay * I_syn + arrivals + background(state, wiring)
        buffer = deliver(buffer, wiring.recurrent, spikes, t)
        if pulse is not None and wiring.thalamic is not None:
            buffer = deliver(buffer, wiring.thalamic, pulse(t), t)
        listed = event_ops.spike_compact(spikes, capacity=room, backend=backend)
        return State(V_m, refractory, I_syn, buffer, t + 1), Spikes(*listed)

    return step
