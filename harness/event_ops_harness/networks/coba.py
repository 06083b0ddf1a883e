"""The COBA network (Brette et al. 2007, benchmark 1): ``python -m event_ops_harness.networks.coba``.

    C_m        dV/dt    = g_L * (E_L - V) + g_ex * (E_ex - V) + g_in * (E_in - V)   (V is held, refractory)
    tau_syn_ex dg_ex/dt = -g_ex,    g_ex += weight_ex   at each excitatory spike
    tau_syn_in dg_in/dt = -g_in,    g_in += weight_in   at each inhibitory spike

Source: Brette et al. 2007, J. Comput. Neurosci. 23:349-398, benchmark 1. The membrane has 1 uF/cm2 and
50 uS/cm2 there, of 20,000 um2: 200 pF and 10 nS. Nothing drives the network: it goes on by itself once it has
begun. Its first state is that of R. Brette's program for the paper, ``COBA.py`` in Brian, but for g_ex_mean
and g_in_sd, which are 40 and 120 nS there: neurons then begin to fire so nearly at once that some networks (4
of 30 seeds here) fall silent after it, and with these none of 120. Conductances drawn below 0 are 0.
"""

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
class CobaParameters(BalancedParameters):
    """Hold the parameters: times in ms, potentials in mV, conductances in nS, the capacitance in pF."""

    unit: ClassVar[str] = "nS"

    E_L: float = -60.0  # mV
    weight_ex: float = 6.0  # nS per spike
    weight_in: float = 67.0  # nS per spike
    g_L: float = 10.0  # nS
    C_m: float = 200.0  # pF: a membrane time constant of 20 ms
    E_ex: float = 0.0  # mV
    E_in: float = -80.0  # mV
    V_mean: float = -65.0  # mV; this and all below: the first state is normal
    V_sd: float = 5.0
    g_ex_mean: float = 20.0  # nS
    g_ex_sd: float = 15.0
    g_in_mean: float = 200.0  # nS
    g_in_sd: float = 200.0


OPERATORS = ("lif_cond_exp_step", "csr_event_arrivals", "spike_compact")
NEURON = ("tau_syn_ex", "tau_syn_in", "E_L", "g_L", "C_m", "E_ex", "E_in", "V_th", "V_reset", "dt")


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    refractory: jax.Array  # float32 (N,), ms left
    g_ex: jax.Array  # float32 (N,), nS
    g_in: jax.Array  # float32 (N,), nS


class Synapses(NamedTuple):
    """The matrices of both channels, rows = source neurons, in nS.

    Each conductance is an array of its own, updated in place, as one of both channels could not be.
    """

    ex: event_ops.CSR
    inh: event_ops.CSR


def initial_state(connectivity: Connectivity, model: CobaParameters, seed: int) -> State:
    """Draw potentials and conductances; nothing is refractory."""
    # Another stream than that of the synapses, which are drawn by the seed alone.
    n, rng = connectivity.neurons, np.random.default_rng([seed, 1])
    V_m = rng.normal(model.V_mean, model.V_sd, n)
    g_ex = np.maximum(rng.normal(model.g_ex_mean, model.g_ex_sd, n), 0)
    g_in = np.maximum(rng.normal(model.g_in_mean, model.g_in_sd, n), 0)
    return State(*(jnp.asarray(x, jnp.float32) for x in (V_m, np.zeros(n), g_ex, g_in)))


def channels(connectivity: Connectivity, columns: int) -> tuple[event_ops.CSR, ...]:
    """Return the excitatory and the inhibitory matrix, of at least N columns."""
    matrices = []
    for k, scale in enumerate(connectivity.channel_scale):
        data, *structure = connectivity.of_channel(k)
        parts = np.float32(scale) * np.abs(data), *structure
        matrices.append(event_ops.CSR(*parts, shape=(connectivity.neurons, columns)))
    return tuple(matrices)


def on_device(connectivity: Connectivity) -> Synapses:
    """Return the matrices of one device."""
    return Synapses(*channels(connectivity, connectivity.neurons))


def catalog_step(
    connectivity: Connectivity,
    model: CobaParameters,
    backend: str | None,
    placement: OneDevice = ONE_DEVICE,
) -> Step:
    """Integrate, deliver the spikes to the conductances, list the spikes.

    With blocks on several devices, state and synapses are those of one block, and the listed spikes are those
    of all neurons.
    """
    neuron = {name: getattr(model, name) for name in NEURON} | {"t_ref": model.held_time}
    lif_step = partial(event_ops.lif_cond_exp_step, **neuron, backend=backend)
    compact = partial(event_ops.spike_compact, capacity=capacity_of(connectivity.neurons), backend=backend)

    def add(A: event_ops.CSR, spikes: jax.Array, g: jax.Array) -> jax.Array:
        # A history of one step: spikes arrive in the step in which they are fired.
        options = {"shape": (connectivity.neurons, g.size), "initial": g, "backend": backend}
        return event_ops.csr_event_arrivals(spikes[None], A.data, A.indices, A.indptr, 0, **options)

    def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
        V_m, refractory, g_ex, g_in, block_spikes = lif_step(*state)
        spikes = placement.exchange(block_spikes, backend)
        g_ex, g_in = add(synapses.ex, spikes, g_ex), add(synapses.inh, spikes, g_in)
        return State(V_m, refractory, g_ex, g_in), Spikes(*compact(spikes))

    return step


def declared(
    connectivity: Connectivity, model: CobaParameters, record: network.Record | None = None
) -> network.Network:
    """Return the network as a declaration, whose run is one call; spikes act in their own step."""
    neuron = {name: getattr(model, name) for name in NEURON} | {"t_ref": model.held_time}
    neurons = network.Population(connectivity.neurons, event_ops.lif_cond_exp_step, **neuron)
    matrices = zip(on_device(connectivity), ("g_ex", "g_in"), strict=True)
    projections = [network.Projection(A, receptor, delay=0) for A, receptor in matrices]
    return network.Network(neurons, projections, record=record)


class Blocks(PackedBlocks):
    """Split all arrays of the state, and the matrix of each channel by target."""

    specs: ClassVar[Any] = State._make([P(AXIS)] * len(State._fields))

    def connect(self, connectivity: Connectivity) -> tuple[event_ops.ShardedCSR, ...]:
        columns = self.size * self.devices
        starts = range(0, columns + 1, self.size)
        matrices = channels(connectivity, columns)
        return tuple(event_ops.shard_csr(A.T, self.mesh, AXIS, starts=starts) for A in matrices)

    def local(self, wiring: tuple[event_ops.ShardedCSR, ...]) -> Synapses:
        return Synapses(*(A.local().T for A in wiring))


COBA: Final = Network(
    "coba",
    CobaParameters(),
    OPERATORS,
    catalog_step,
    initial_state,
    on_device,
    Blocks,
    declared,
    by_name=State._asdict,
)
main = COBA.program.main

if __name__ == "__main__":
    sys.exit(main())
