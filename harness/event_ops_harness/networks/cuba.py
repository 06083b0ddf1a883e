"""The CUBA network (Brette et al. 2007, benchmark 2): ``python -m event_ops_harness.networks.cuba``.

    tau_m      dV/dt    = (E_L - V) + g_ex + g_in       (V is held while refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex   at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in   at each inhibitory spike

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmark 2.
"""

import math
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import event_ops
from event_ops import network
from event_ops_harness.networks.balanced.cli import Network
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.network import BalancedParameters, capacity_of
from event_ops_harness.networks.shared.blocks import AXIS, ONE_DEVICE, OneDevice, PackedBlocks
from event_ops_harness.networks.shared.simulation import Spikes, Step


@dataclass(frozen=True)
class CubaParameters(BalancedParameters):
    """Hold the parameters: times in ms, potentials in mV, drives (resistance times current) in mV."""

    unit: ClassVar[str] = "mV"

    E_L: float = -49.0  # mV, above threshold: neurons fire by themselves
    weight_ex: float = 1.62  # mV per spike
    weight_in: float = -9.0  # mV per spike
    tau_m: float = 20.0  # ms, membrane

    def drive_gain(self, tau_syn: float) -> float:
        """Return the constant drive that moves V over one step exactly as 1 mV decaying with tau_syn does.

        gain = tau_syn / (tau_syn - tau_m) * (exp(-dt/tau_syn) - exp(-dt/tau_m)) / (1 - exp(-dt/tau_m)):
        with it an integrator that is exact for constant drive is exact for this model.
        """
        decay_m, decay_syn = math.exp(-self.dt / self.tau_m), math.exp(-self.dt / tau_syn)
        if math.isclose(tau_syn, self.tau_m):
            # The limit for equal time constants, where the formula is 0 / 0.
            return (self.dt / self.tau_m) * decay_m / (1.0 - decay_m)
        return tau_syn / (tau_syn - self.tau_m) * (decay_syn - decay_m) / (1.0 - decay_m)


OPERATORS = ("lif_step", "expsyn_step", "spike_compact")


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    refractory: jax.Array  # float32 (N,), ms left
    g: jax.Array  # float32 (2, N), excitatory and inhibitory drive in units of the weights


class Synapses(NamedTuple):
    data: jax.Array  # float32, 0-d or (nse,)
    indices: jax.Array  # int32 (nse,)
    indptr: jax.Array  # int32 (N + 1,)


def initial_state(connectivity: Connectivity, model: CubaParameters, seed: int) -> State:
    """Draw V_m uniformly between V_reset and V_th; nothing is refractory, and no drive is there."""
    n = connectivity.neurons
    # Another stream than that of the synapses, which are drawn by the seed alone.
    rng = np.random.default_rng([seed, 1])
    V_m = jnp.asarray(rng.uniform(model.V_reset, model.V_th, n), jnp.float32)
    return State(V_m, refractory=jnp.zeros(n, jnp.float32), g=jnp.zeros((2, n), jnp.float32))


def on_device(connectivity: Connectivity) -> Synapses:
    """Return the CSR parts as JAX arrays."""
    arrays = connectivity.data, connectivity.indices, connectivity.indptr
    return Synapses(*map(jnp.asarray, arrays))


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
        V_m, refractory, block_spikes = lif_step(V_m, refractory, gain_ex * g[0] + gain_in * g[1])
        spikes = placement.exchange(block_spikes, backend)
        g = expsyn_step(g, *synapses, spikes, shape=(connectivity.neurons, g.size))
        return State(V_m, refractory, g), Spikes(*compact(spikes))

    return step


def integrate(
    V_m: Any, g_ex: Any, g_in: Any, *, E_L: Any, tau_m: Any, tau_syn_ex: Any, tau_syn_in: Any, gain_ex: Any,
    gain_in: Any, dt: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Move one neuron, and let its drives decay."""
    V_inf = E_L + (gain_ex * g_ex + gain_in * g_in)  # in the order of `catalog_step`
    V_m = V_inf + (V_m - V_inf) * jnp.exp(-dt / tau_m)
    return V_m, g_ex * jnp.exp(-dt / tau_syn_ex), g_in * jnp.exp(-dt / tau_syn_in)


NEURON: Final = event_ops.neuron_step(
    integrate,
    threshold=lambda V_m, g_ex, g_in, *, V_th: V_m - V_th,
    reset=lambda V_m, g_ex, g_in, *, V_reset: (V_reset, g_ex, g_in),
    held=("V_m",),
)
CHANNELS: Final = "g_ex", "g_in"


def declared(
    connectivity: Connectivity, model: CubaParameters, record: network.Record | None = None
) -> network.Network:
    """Return the network as a declaration, whose run is one call; spikes act in their own step."""
    names = ("tau_m", "tau_syn_ex", "tau_syn_in", "E_L", "V_th", "V_reset", "dt")
    gain_ex, gain_in = drive_gains(connectivity, model)
    parameters = {name: getattr(model, name) for name in names} | {"t_ref": model.held_time}
    neurons = network.Population(connectivity.neurons, NEURON, gain_ex=gain_ex, gain_in=gain_in, **parameters)
    parts = [connectivity.of_channel(k) for k in range(len(CHANNELS))]
    projections = [
        network.Projection(event_ops.CSR(*part, shape=(connectivity.neurons,) * 2), channel, delay=0)
        for part, channel in zip(parts, CHANNELS, strict=True)
    ]
    return network.Network(neurons, projections, record=record)


def by_name(state: State) -> dict[str, jax.Array]:
    """Return the states of the neurons of the declared network."""
    return {"V_m": state.V_m, "refractory": state.refractory, "g_ex": state.g[0], "g_in": state.g[1]}


class Blocks(PackedBlocks):
    """Split state and synapses by target; a device has both channels of its block."""

    specs: ClassVar[Any] = State._make((P(AXIS), P(AXIS), P(None, AXIS)))

    def connect(self, connectivity: Connectivity) -> event_ops.ShardedCSR:
        """Make the channels of each block rows of one matrix, and split it."""
        channel, target = np.divmod(connectivity.indices, np.int32(self.neurons))
        device, offset = np.divmod(target, np.int32(self.size))
        rows = 2 * self.size * self.devices
        columns = (2 * device + channel) * np.int32(self.size) + offset
        A = event_ops.CSR(connectivity.data, columns, connectivity.indptr, shape=(self.neurons, rows))
        starts = range(0, rows + 1, 2 * self.size)
        return event_ops.shard_csr(A.T, self.mesh, AXIS, starts=starts)

    def local(self, wiring: event_ops.ShardedCSR) -> Synapses:
        A = wiring.local()
        return Synapses(A.data, A.indices, A.indptr)


CUBA: Final = Network(
    "cuba",
    CubaParameters(),
    OPERATORS,
    catalog_step,
    initial_state,
    on_device,
    Blocks,
    declared,
    by_name,
)
main = CUBA.program.main

if __name__ == "__main__":
    sys.exit(main())
