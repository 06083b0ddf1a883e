"""The parts of the network, and one time step of it, built from the catalog's operators.

One device with stored synapses runs the same in one call, as `declared.py` has it; the steps are for synapses
that are drawn anew, for several devices, and for derivatives.

The order within a step is that of NEST's ``iaf_psc_exp``: the potential moves by the current of the step
before, the current decays, what arrives now is added to it, then who is above threshold spikes; a spike of
step t with a delay of d steps arrives in step t + d. Background spikes need no delay: a Poisson process
looks the same later.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops.kernels.reference.spiking import Surrogate
from event_ops.network import PoissonInput
from event_ops.network import inputs as network_inputs
from event_ops_harness.networks.microcircuit.connectivity import BACKGROUND, Drawing, Synapses, key_of
from event_ops_harness.networks.microcircuit.delivery import delivered, no_spikes, nothing_pending
from event_ops_harness.networks.microcircuit.model import V_MEAN, V_SD, Microcircuit
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice
from event_ops_harness.networks.shared.simulation import Recorder, Spikes

CORTEX, THALAMUS = "cortex", "thalamus"  # the populations where there is a pulse
OPERATORS = ("lif_expsyn_step", "compact_event_arrivals", "poisson_input", "spike_compact")


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    refractory: jax.Array  # float32 (N,), ms left
    I_syn: jax.Array  # float32 (N,), pA; one for both signs, since they decay alike
    pending: jax.Array  # the spikes of the last steps, or what arrives in the next: see `delivery.py`
    thalamic: jax.Array  # float32 (SLOTS, thalamic neurons), their spikes in the last steps
    t: jax.Array  # int32 0-d, the number of the next step


class Wiring(NamedTuple):
    """Hold the arrays that a step reads and does not change."""

    recurrent: Synapses | Drawing
    thalamic: Any  # Synapses where there is a pulse, or None
    seed: jax.Array  # uint32 0-d, of the background
    drive: jax.Array  # float32 0-d, times the background's mean: what a gradient is asked for


Step = Callable[[State, Wiring], tuple[State, Spikes]]


def capacity_of(neurons: int) -> int:
    """Return how many spikes of one step are kept; 0.0004 per neuron is usual."""
    return min(neurons, max(64, neurons // 16))


def initial_potentials(model: Microcircuit, seed: int) -> np.ndarray:
    """Draw (neurons,), float32, in mV, from a normal distribution for each population."""
    deviates = np.random.default_rng([seed, 1]).standard_normal(model.neurons)
    return (model.per_neuron(V_MEAN) + model.per_neuron(V_SD) * deviates).astype(np.float32)


def initial_state(model: Microcircuit, seed: int, pending: jax.Array | None = None) -> State:
    """Draw the potentials; nothing is refractory or on its way, and no current flows.

    `pending` is needed where synapses are drawn anew, or spikes are numbers: see `delivery.py`.
    """
    n = model.neurons
    return State(
        V_m=jnp.asarray(initial_potentials(model, seed)),
        refractory=jnp.zeros(n, jnp.float32),
        I_syn=jnp.zeros(n, jnp.float32),
        pending=no_spikes(n, capacity_of(n)) if pending is None else pending,
        thalamic=nothing_pending(model.thalamic_neurons),
        t=jnp.zeros((), jnp.int32),
    )


def wiring_of(recurrent: Synapses | Drawing, seed: int, thalamic: Synapses | None = None) -> Wiring:
    """Return the arrays that the step reads, with the background of a seed.

    NumPy arrays of synapses share their memory with the JAX arrays.
    """
    host: Any = recurrent, thalamic, np.uint32(key_of(seed, BACKGROUND)), np.float32(1)
    # Blocks are where they are drawn, some in other processes: JAX would refuse to put these.
    return Wiring(*jax.tree.map(lambda x: x if isinstance(x, jax.Array) else jax.device_put(x), host))


def neuron_parameters(model: Microcircuit) -> dict[str, Any]:
    """Return the parameters of `lif_expsyn_step` by name, but for the constant input."""
    same = ("tau_m", "tau_syn", "E_L", "V_reset", "t_ref", "dt")
    # `lif_expsyn_step` asks for V > V_th where NEST asks for V >= V_th.
    V_th = np.nextafter(np.float32(model.V_th), np.float32(-np.inf))
    changed = {"V_th": V_th, "R_m": model.tau_m / model.C_m}
    return {name: getattr(model, name) for name in same} | changed


def constant_current(model: Microcircuit) -> np.ndarray:
    """Return the constant input in pA, float32: (neurons,), or 0-d if it is the same for all."""
    each = model.per_neuron(model.I_dc).astype(np.float32)
    return each if np.ptp(each) else each[0]


def dynamics(
    model: Microcircuit,
    backend: str | None,
    *,
    pulse: float | None = None,
    surrogate: Surrogate | None = None,
    placement: OneDevice = ONE_DEVICE,
) -> Callable[[State, Wiring], tuple[State, jax.Array]]:
    """Integrate, add arrivals, send the spikes; return them, too, one flag per neuron.

    With a pulse thalamic neurons spike, from that time in s on. With a surrogate, spikes are the numbers 0
    and 1, through which derivatives go.
    """
    neuron: dict[str, Any] = neuron_parameters(model) | {"surrogate": surrogate}
    constant, inputs = constant_current(model), list(enumerate(inputs_of(model, pulse)))
    background, thalamus = (
        [partial(drawn, part, place, backend) for place, part in inputs if part.receptor == receptor]
        for receptor in ("I_syn", "spikes")
    )

    def step(state: State, wiring: Wiring) -> tuple[State, jax.Array]:
        V_m, refractory, I_syn, pending, thalamic, t = state
        I_e = placement.own(jnp.asarray(constant)) if constant.ndim else constant
        V_m, refractory, I_syn, block_spikes = event_ops.lif_expsyn_step(
            V_m, refractory, I_syn, I_e=I_e, **neuron, backend=backend
        )
        for add in background:
            I_syn = placement.add(partial(add, wiring.drive, wiring.seed, t), I_syn)
        spikes = placement.exchange(block_spikes, backend)
        I_syn, pending = delivered(I_syn, pending, wiring.recurrent, spikes, t, backend)
        for add in thalamus:
            pulsed = add(jnp.float32(1), wiring.seed, t, jnp.zeros(model.thalamic_neurons, jnp.float32))
            I_syn, thalamic = delivered(I_syn, thalamic, wiring.thalamic, pulsed, t, backend)
        return State(V_m, refractory, I_syn, pending, thalamic, t + 1), spikes

    return step


def catalog_step(
    model: Microcircuit, backend: str | None, *, pulse: float | None = None, placement: OneDevice = ONE_DEVICE
) -> Step:
    """Return one step of the dynamics, with the spikes as a list."""
    move, room = dynamics(model, backend, pulse=pulse, placement=placement), capacity_of(model.neurons)

    def step(state: State, wiring: Wiring) -> tuple[State, Spikes]:
        state, spikes = move(state, wiring)
        return state, Spikes(*event_ops.spike_compact(spikes, capacity=room, backend=backend))

    return step


def inputs_of(model: Microcircuit, pulse: float | None = None) -> list[PoissonInput]:
    """Return the background, where there is one, and thalamic spikes from `pulse` in s on."""
    cortex, thalamus = ("", "") if pulse is None else (CORTEX, THALAMUS)
    mean = model.per_neuron(model.external_rates) * model.dt * 1e-3  # 0 with the constant drive
    weight = np.float32(model.weight_ext)
    inputs = [PoissonInput("I_syn", weight=weight, mean=mean, target=cortex)] * bool(mean.any())
    if pulse is None:
        return inputs
    start, stop = (round(t / model.dt) for t in (pulse * 1e3, pulse * 1e3 + model.thalamic_duration))
    often = model.thalamic_rate * model.dt * 1e-3
    window: Any = {"start": start, "stop": stop, "target": thalamus}
    return [*inputs, PoissonInput("spikes", weight=np.float32(1), mean=often, **window)]


def drawn(
    part: PoissonInput,
    place: int,
    backend: str | None,
    drive: jax.Array,
    seed: jax.Array,
    t: jax.Array,
    sums: jax.Array,
) -> jax.Array:
    """Add the input at this place among all to sums, as a run in one call does, `drive` times as strong."""
    key, mean = network_inputs.key_of(seed, place), np.asarray(part.mean)
    how: Any = {"mean": mean, "initial": sums, "backend": backend}
    added = event_ops.poisson_input(part.weight * drive, key, t, **how)
    return added if part.window is None else jnp.where(part.is_on(t), added, sums)


def recorder_of(model: Microcircuit, first_step: int = 0, capacity: int | None = None) -> Recorder:
    """Record all spikes; more than the capacity in a step are an error, never a loss."""
    room = capacity_of(model.neurons) if capacity is None else capacity
    return Recorder(model.neurons, room, refractory_steps=int(model.t_ref / model.dt), first_step=first_step)
