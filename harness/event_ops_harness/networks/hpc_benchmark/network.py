"""One time step of the network, built from the catalog's operators and from a rule of one synapse."""

import math
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops import plasticity
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark, drawn_network
from event_ops_harness.networks.shared.simulation import Recorder, Simulation, Spikes, Step

OPERATORS = (
    "plasticity_on_pre",
    "plasticity_on_post",
    "csr_event_arrivals",
    "poisson_input",
    "read_slot",
    "pack_events",
    "unpack_events",
    "spike_compact",
)


class State(NamedTuple):
    V_m: jax.Array  # float32 (N,), mV
    current: jax.Array  # float32 (N,), pA
    rise: jax.Array  # float32 (N,), pA/ms
    refractory: jax.Array  # float32 (N,), ms left
    arriving: jax.Array  # float32 (delay, N), pA, a ring: what neurons were sent in the last steps
    fired: jax.Array  # uint32 (delay, words), a ring: who sent it, a bit for each neuron
    x_pre: jax.Array  # float32 (N,), the trace of spikes as they leave
    x_post: jax.Array  # float32 (N,), the trace of spikes as they come back after the delay
    w: jax.Array  # float32 (synapses that learn,), pA, by source
    t: jax.Array  # int32 0-d, steps done


class Synapses(NamedTuple):
    """Hold the constant arrays; rows are sources, columns are targets."""

    rows: tuple[jax.Array, jax.Array]  # of synapses that learn: indices, indptr
    columns: tuple[jax.Array, jax.Array, jax.Array]  # the same by target: rows, indptr, permutation
    fixed: tuple[tuple[Any, jax.Array, jax.Array], ...]  # data, indices, indptr of all others


def depress(w: jax.Array, *, x_post: jax.Array, rate: jax.Array) -> jax.Array:
    """Change a synapse at a presynaptic spike: in proportion to its weight."""
    return jnp.maximum(w - rate * w * x_post, 0)


def potentiate(w: jax.Array, *, x_pre: jax.Array, rate: jax.Array, mu: jax.Array) -> jax.Array:
    """Change a synapse when a postsynaptic spike reaches it: by a power of its weight."""
    return w + rate * x_pre * w**mu


def first_potentials(model: HpcBenchmark, seed: int) -> np.ndarray:
    """Draw (N,), float32, in mV, from a normal distribution."""
    return np.random.default_rng([seed, 1]).normal(model.V_mean, model.V_sd, model.neurons).astype(np.float32)


def drawn(model: HpcBenchmark, seed: int) -> tuple[State, Synapses]:
    """Draw the synapses and the first state; synapses that learn begin with one weight."""
    learning, to_inhibitory, inhibitory = drawn_network(model, seed)
    n, delay = model.neurons, model.delay_steps
    rows, columns = learning[:2], learning[2:]
    weights = np.float32(model.weight), np.float32(model.g * model.weight)
    static = (to_inhibitory, inhibitory)
    fixed = tuple((weight, *wires[:2]) for weight, wires in zip(weights, static, strict=True))
    V_m = first_potentials(model, seed)
    current, rise, x_pre, x_post = (jnp.zeros(n, jnp.float32) for _ in range(4))
    state = State(
        *(jnp.asarray(V_m), current, rise, jnp.zeros(n, jnp.float32)),
        *(jnp.zeros((delay, n), jnp.float32), jnp.zeros((delay, -(-n // 32)), jnp.uint32), x_pre, x_post),
        *(jnp.full(learning.targets.size, weights[0]), jnp.int32(0)),
    )
    return state, Synapses(*jax.tree.map(jnp.asarray, (rows, columns, fixed)))


def integrate(
    V_m: Any, current: Any, rise: Any, *, arrived: Any, P_VV: Any, P_VI: Any, P_Vr: Any, P_II: Any, P_Ir: Any,
    P_rr: Any, jump: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Move one neuron by its propagator, and add the weights that arrived, in pA, to the rise."""
    V_m = P_VV * V_m + P_VI * current + P_Vr * rise
    return V_m, P_II * current + P_Ir * rise, P_rr * rise + jump * arrived


NEURON: Final = event_ops.neuron_step(
    integrate,
    threshold=lambda V_m, current, rise, *, V_th: V_m - V_th,
    reset=lambda V_m, current, rise, *, V_reset: (V_reset, current, rise),
    held=("V_m",),
)


def neuron_parameters(model: HpcBenchmark) -> dict[str, Any]:
    """Return the parameters of NEURON by name."""
    # P is triangular: rise drives the current, and the current V.
    P, same = model.propagator(), {name: getattr(model, name) for name in ("V_reset", "t_ref", "dt")}
    names = {
        "P_VV": P[0, 0],
        "P_VI": P[0, 1],
        "P_Vr": P[0, 2],
        "P_II": P[1, 1],
        "P_Ir": P[1, 2],
        "P_rr": P[2, 2],
    }
    # It spikes where V > V_th, and NEST where V >= V_th.
    above = {"V_th": np.nextafter(np.float32(model.V_th), np.float32(-np.inf))}
    return same | names | above | {"jump": math.e / model.tau_syn}


def catalog_step(model: HpcBenchmark, seed: int, capacity: int, backend: str | None = None) -> Step:
    """Integrate, let synapses learn, send the spikes, list them.

    All synapses have one delay, so that what neurons are sent is summed at once, and arrives later: with the
    weight at which it was sent.
    """
    n, dt = model.neurons, model.dt
    decay_pre, decay_post = (np.float32(np.exp(-dt / tau)) for tau in (model.tau_plus, model.tau_minus))
    move = partial(NEURON, **neuron_parameters(model), backend=backend)
    everywhere = {"shape": (n, n), "backend": backend}
    arrivals = partial(event_ops.csr_event_arrivals, slot=0, **everywhere)
    drive = {"mean": model.rate_outside * dt * 1e-3, "weight": np.float32(model.weight), "seed": seed}
    outside = partial(event_ops.poisson_input, **drive, backend=backend)
    compact = partial(event_ops.spike_compact, capacity=capacity, backend=backend)
    pack = partial(event_ops.pack_events, backend=backend)
    lam, mu = model.lam, model.mu

    def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
        slot = state.t % model.delay_steps
        arrived, arriving = event_ops.read_slot(state.arriving, slot, backend=backend)
        words, fired = event_ops.read_slot(state.fired, slot, backend=backend)
        back = event_ops.unpack_events(words, n=n, backend=backend)
        x_pre, x_post = state.x_pre * decay_pre, state.x_post * decay_post
        gain = {"x_pre": x_pre, "rate": lam, "mu": mu}
        w = plasticity.on_post(potentiate, state.w, *synapses.columns, back, **gain, **everywhere)
        *membrane, spikes = move(*state[:4], arrived=outside(step=state.t, initial=arrived))
        loss = {"x_post": x_post, "rate": lam * model.alpha}
        w = plasticity.on_pre(depress, w, *synapses.rows, spikes, **loss, **everywhere)
        now, sent = spikes[None], jnp.zeros(n, jnp.float32)
        for wires in ((w, *synapses.rows), *synapses.fixed):
            sent = arrivals(now, *wires, initial=sent)
        x_pre, x_post = x_pre + spikes.astype(x_pre.dtype), x_post + back.astype(x_post.dtype)
        # The slot that was read above is free: it comes up again after the delay.
        arriving, fired = arriving.at[slot].set(sent), fired.at[slot].set(pack(spikes))
        sums = arriving, fired, x_pre, x_post, w, state.t + 1
        return State._make((*membrane, *sums)), Spikes(*compact(spikes))

    return step


DRIVEN_MV = 100.0  # far above any threshold


def simulation_of(model: HpcBenchmark, seed: int, seconds: float, backend: str | None = None) -> Simulation:
    """Build the network; all spikes are listed."""
    state, synapses = drawn(model, seed)
    step = catalog_step(model, seed, capacity=model.neurons, backend=backend)
    recorder = Recorder(model.neurons, capacity=model.neurons, refractory_steps=round(model.t_ref / model.dt))
    return Simulation(step, state, synapses, recorder, model.steps(seconds))


def learned(simulation: Simulation, state: State) -> np.ndarray:
    """Return the weights in pA of the synapses that learn, by source, after the last state.

    With these weights a spike right after that state would be sent, as in NEST, which brings a synapse up to
    date when its source spikes.
    """
    driven = state._replace(V_m=jnp.full_like(state.V_m, DRIVEN_MV))  # all spike that are not refractory
    step: Any = simulation.step  # of this module
    return np.asarray(jax.jit(lambda state: step(state, simulation.wiring)[0].w)(driven))
