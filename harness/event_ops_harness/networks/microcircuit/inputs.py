"""Inputs from outside: the Poisson spikes of the background, and a pulse of thalamic spikes."""

from collections.abc import Callable

import jax
import numpy as np

import event_ops
from event_ops_harness.networks.microcircuit.connectivity import PULSE, key_of
from event_ops_harness.networks.microcircuit.model import Microcircuit

# (factor of the drive, seed, step, current of each neuron in pA) -> this with what it adds
Background = Callable[[jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]
# step -> how often each thalamic neuron spikes in it
Pulse = Callable[[jax.Array], jax.Array]


def background_of(model: Microcircuit, backend: str | None) -> Background:
    """Return the Poisson drive of every neuron; nothing with the constant drive."""
    rates = model.per_neuron(model.external_rates)
    if not rates.any():
        return lambda drive, seed, t, I_syn: I_syn
    mean = rates * model.dt * 1e-3

    def background(drive: jax.Array, seed: jax.Array, t: jax.Array, I_syn: jax.Array) -> jax.Array:
        return event_ops.poisson_input(
            model.weight_ext * drive, seed, t, mean=mean, initial=I_syn, backend=backend
        )

    return background


def pulse_of(model: Microcircuit, seed: int, start: float | None, backend: str | None) -> Pulse | None:
    """Return the spikes at `thalamic_rate` for `thalamic_duration` ms from `start` on; None: no pulse."""
    if start is None:
        return None
    first, last = (round(t / model.dt) for t in (start, start + model.thalamic_duration))
    mean = np.full(model.thalamic_neurons, model.thalamic_rate * model.dt * 1e-3)
    key = np.uint32(key_of(seed, PULSE))

    def pulse(t: jax.Array) -> jax.Array:
        spikes = event_ops.poisson_input(np.float32(1), key, t, mean=mean, backend=backend)
        return spikes * ((t >= first) & (t < last)).astype(spikes.dtype)

    return pulse
