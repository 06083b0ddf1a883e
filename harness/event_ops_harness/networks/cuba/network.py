"""One time step of the network, built from the catalog's operators."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.simulation import capacity_of
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice
from event_ops_harness.networks.shared.simulation import Spikes

OPERATORS = ("lif_step", "expsyn_step", "spike_compact")


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    refractory: jax.Array  # float32 (N,), ms left
    g: jax.Array  # float32 (2, N), excitatory and inhibitory drive in units of the weights


class Synapses(NamedTuple):
    data: jax.Array  # float32, 0-d or (nse,)
    indices: jax.Array  # int32 (nse,)
    indptr: jax.Array  # int32 (N + 1,)


Step = Callable[[State, Synapses], tuple[State, Spikes]]


def initial_state(connectivity: Connectivity, model: CubaParameters, seed: int) -> State:
    """Draw V_m uniformly between V_reset and V_th; nothing is refractory, and no drive is there."""
    n = connectivity.neurons
    rng = np.random.default_rng([seed, 1])
    V_m = jnp.asarray(rng.uniform(model.V_reset, model.V_th, n), jnp.float32)
    return State(V_m, refractory=jnp.zeros(n, jnp.float32), g=jnp.zeros((2, n), jnp.float32))


def on_device(connectivity: Connectivity) -> Synapses:
    """Return the CSR parts as JAX arrays."""
    parts = connectivity.data, connectivity.indices, connectivity.indptr
    return Synapses(*map(jnp.asarray, parts))


def drive_gains(connectivity: Connectivity, model: CubaParameters) -> tuple[float, float]:
    """Return the drive in mV per unit of g, for each channel."""
    weight_ex, weight_in = connectivity.channel_scale
    return (
        weight_ex * model.drive_gain(model.tau_syn_ex),
        weight_in * model.drive_gain(model.tau_syn_in),
    )


def catalog_step(
    connectivity: Connectivity,
    model: CubaParameters,
    backend: str | None,
    placement: OneDevice = ONE_DEVICE,
) -> Step:
    """Integrate, let the drives decay and deliver the spikes to them, list the spikes.

    With blocks on several devices, state and synapses are those of one block, and the listed spikes are those
    of all neurons.
    """
    gain_ex, gain_in = drive_gains(connectivity, model)
    neuron = {k: getattr(model, k) for k in ("tau_m", "E_L", "V_th", "V_reset", "dt")}
    tau_syn = np.array([[model.tau_syn_ex], [model.tau_syn_in]])  # one per channel
    lif_step = partial(event_ops.lif_step, **neuron, t_ref=model.held_time, backend=backend)
    expsyn_step = partial(event_ops.expsyn_step, tau=tau_syn, dt=model.dt, backend=backend)
    compact = partial(event_ops.spike_compact, capacity=capacity_of(connectivity.neurons), backend=backend)

    def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
        V_m, refractory, g = state
        V_m, refractory, own = lif_step(V_m, refractory, gain_ex * g[0] + gain_in * g[1])
        spikes = placement.exchange(own, backend)
        g = expsyn_step(g, *synapses, spikes, shape=(connectivity.neurons, g.size))
        return State(V_m, refractory, g), Spikes(*compact(spikes))

    return step
