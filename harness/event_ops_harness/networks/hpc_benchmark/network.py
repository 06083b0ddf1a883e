"""The network as a declaration, whose run is one call, and the rules of its synapses."""

import math
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import event_ops
from event_ops import network
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark, Wires, drawn_network
from event_ops_harness.networks.shared.simulation import Recorder, Simulation

OPERATORS: Final = ("network_run",)
LEARNING: Final = 0  # the place of the projection that learns


def depress(w: jax.Array, *, x_post: jax.Array, loss: jax.Array) -> jax.Array:
    """Change a synapse at a presynaptic spike: in proportion to its weight."""
    return jnp.maximum(w - loss * w * x_post, 0)


def potentiate(w: jax.Array, *, x_pre: jax.Array, gain: jax.Array, mu: jax.Array) -> jax.Array:
    """Change a synapse when a postsynaptic spike reaches it: by a power of its weight."""
    return w + gain * x_pre * w**mu


def first_potentials(model: HpcBenchmark, seed: int) -> np.ndarray:
    """Draw (N,), float32, in mV, from a normal distribution."""
    return np.random.default_rng([seed, 1]).normal(model.V_mean, model.V_sd, model.neurons).astype(np.float32)


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


def declared(
    model: HpcBenchmark, seed: int, record: network.Record | None = None, *, wires: tuple[Wires, ...] = ()
) -> network.Network:
    """Return the network of these synapses, by default drawn; plastic ones begin with one weight.

    The delay is that of the dendrite, as in NEST: a synapse meets a spike when it leaves, and the spike of
    its neuron a delay later. In the time of arrivals both are a delay later.
    """
    n, delay = model.neurons, model.delay_steps
    learning = network.Plasticity(
        depress,
        potentiate,
        traces={"x_pre": model.tau_plus, "x_post": model.tau_minus},
        dt=model.dt,
        post_delay=2 * delay,
        post_first=True,
        loss=model.lam * model.alpha,
        gain=model.lam,
        mu=model.mu,
    )
    rules = learning, None, None
    weights = model.weight, model.weight, model.g * model.weight
    projections = [
        network.Projection(
            event_ops.CSR(np.float32(weight), *each[:2], shape=(n, n)),
            "arrived",
            delay=delay,
            plasticity=rule,
        )
        for each, weight, rule in zip(wires or drawn_network(model, seed), weights, rules, strict=True)
    ]
    outside = network.PoissonInput(
        "arrived", weight=np.float32(model.weight), mean=model.rate_outside * model.dt * 1e-3
    )
    population = network.Population(n, NEURON, **neuron_parameters(model))
    return network.Network(population, projections, [outside], record)


def first_state(declaration: network.Network, model: HpcBenchmark, seed: int) -> network.State:
    """Return the first state of the network, also of the one whose synapses are static."""
    V_m = first_potentials(model, seed)
    return declaration.state({"V_m": V_m, "current": 0.0, "rise": 0.0, "refractory": 0.0}, seed=seed)


DRIVEN_MV = 100.0  # far above any threshold


def simulation_of(model: HpcBenchmark, seed: int, seconds: float, backend: str | None = None) -> Simulation:
    """Build the network; all spikes are listed."""
    recorder = Recorder(model.neurons, capacity=model.neurons, refractory_steps=round(model.t_ref / model.dt))
    declaration = declared(model, seed, network.Record(spikes=recorder.buffer().ids.size))
    state = first_state(declaration, model, seed)
    return Simulation(declaration, state, declaration, recorder, model.steps(seconds), backend=backend)


def learned(declaration: network.Network, state: network.State, model: HpcBenchmark) -> np.ndarray:
    """Return the weights in pA of the synapses that learn, by source, after the last state.

    With these weights a spike right after that state would be sent, as in NEST, which brings a synapse up to
    date when its source spikes: all spike that are not refractory, and their spikes arrive.
    """
    neurons = state.neurons | {"V_m": jnp.full_like(state.neurons["V_m"], DRIVEN_MV)}
    run: Any = jax.jit(network.Network.run, static_argnums=2)
    state, _ = run(declaration, state._replace(neurons=neurons), model.delay_steps + 1)
    return np.asarray(state.synapses[LEARNING]["w"])
