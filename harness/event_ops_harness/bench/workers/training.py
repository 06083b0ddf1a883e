"""Take the loss of a recurrent network and its gradient, as `bench training` does; read the peak memory."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import eventprop, neuron_step
from event_ops.surrogate import fast_sigmoid
from event_ops_harness.bench.workers.memory import finished
from event_ops_harness.bench.workers.resident import first_and_median
from event_ops_harness.networks.trained.data import words
from event_ops_harness.networks.trained.network import JAX_SCAN, LOSSES, entropy, spike_of
from event_ops_harness.networks.trained.parameters import first_weights

EXACT, SURROGATE = "exact", "surrogate"  # the kinds of gradients
INPUTS, CLASSES, STEPS = 700, 20, 250
RATE: Final = 0.03  # of inputs that spike in a step
TAU_M, TAU_SYN, DT = 20.0, 5.0, 1.0
Loss = Callable[[Any], tuple[jax.Array, jax.Array]]  # of weights: the loss, and the rate of spikes


def parameters(neurons: int) -> tuple[jax.Array, ...]:
    """Return weights of inputs, between neurons and of readouts, with which a few percent spike in a step."""
    rng = np.random.default_rng(0)
    shapes = (INPUTS, neurons), (neurons, neurons), (neurons, CLASSES)
    means, widths = (0.024, -0.02, 0.0), (0.08, 1.6 / neurons**0.5, 0.1)
    return tuple(
        jnp.asarray(rng.normal(mean, width, shape), jnp.float32)
        for mean, width, shape in zip(means, widths, shapes, strict=True)
    )


def inputs(batch: int) -> tuple[jax.Array, jax.Array]:
    """Return the input spikes of each step, (steps, batch, inputs), and a class for each sample."""
    rng = np.random.default_rng(1)
    spikes = rng.random((STEPS, batch, INPUTS), np.float32) < RATE
    return jnp.asarray(spikes, jnp.float32), jnp.asarray(rng.integers(0, CLASSES, batch))


def integrate(V: Any, I: Any, *, tau_m: Any, tau_syn: Any, dt: Any) -> tuple[Any, Any]:
    """Return V and I after a time dt, as `eventprop.lif` has them."""
    decay, gain = jnp.exp(-dt / tau_m), jnp.expm1((1 / tau_m - 1 / tau_syn) * dt) / (1 - tau_m / tau_syn)
    return decay * (V + gain * I), I * jnp.exp(-dt / tau_syn)


model: Final = neuron_step(integrate, threshold=lambda V, I: V - 1.0, reset=lambda V, I: (0.0 * V, I))


def of_model(*synapses: Any, tau_m: float, tau_syn: float, **options: Any) -> eventprop.Spikes:
    """Return the spikes of `eventprop.lif` from the functions of its neuron."""
    given = {"target": "I", "states": {"V": 0.0, "I": 0.0}, "variables": {"tau_m": tau_m, "tau_syn": tau_syn}}
    return eventprop.neuron(model, *synapses, **given, **options)


def exact(run: Callable[..., eventprop.Spikes], neurons: int, batch: int) -> Loss:
    """Return the loss with spikes at exact times, of neurons that `run` runs."""
    spikes, classes = inputs(batch)
    counted = np.asarray(spikes).swapaxes(0, 1)
    room = int(counted.sum((1, 2)).max())
    times, ids = np.full((batch, room), np.inf, np.float32), np.full((batch, room), INPUTS, np.int32)
    for b, sample in enumerate(counted):
        steps, who = np.nonzero(sample)
        times[b, : steps.size], ids[b, : steps.size] = steps + 0.5, who
    neuron = {"tau_m": TAU_M, "tau_syn": TAU_SYN, "dt": DT, "steps": STEPS}
    capacity = int(0.08 * neurons * STEPS)

    def one(weights: Any, times: Any, ids: Any) -> tuple[jax.Array, jax.Array]:
        into, between, out = weights
        options = {"delay": DT, "recurrent_delay": DT, "capacity": capacity}
        hidden = run(times, ids, into, between, **options, **neuron)
        return eventprop.leaky_integrator(
            hidden.times, hidden.ids, out, delay=DT, **neuron
        ), hidden.num_spikes

    def loss(weights: Any) -> tuple[jax.Array, jax.Array]:
        V, counts = jax.vmap(functools.partial(one, weights))(jnp.asarray(times), jnp.asarray(ids))
        return entropy(V.mean(axis=1), classes), counts.mean() / (neurons * STEPS)

    return loss


spike: Final = spike_of(fast_sigmoid())


def scan(neurons: int, batch: int) -> Loss:
    """Return the loss with spikes in steps: dense products in a scan."""
    spikes, classes = inputs(batch)
    of_V, of_I = np.exp(-DT / TAU_M), np.exp(-DT / TAU_SYN)
    gain = TAU_SYN / (TAU_SYN - TAU_M) * (of_I - of_V)

    def loss(weights: Any) -> tuple[jax.Array, jax.Array]:
        into, between, out = weights

        def step(carry: Any, arriving: jax.Array) -> Any:
            V, I, fired, V_out, I_out = carry
            V, I = V * of_V * (1 - fired) + gain * I, I * of_I + arriving @ into + fired @ between
            fired = spike(V - 1)
            V_out, I_out = V_out * of_V + gain * I_out, I_out * of_I + fired @ out
            return (V, I, fired, V_out, I_out), (V_out, fired.mean())

        quiet, silent = jnp.zeros((batch, neurons)), jnp.zeros((batch, CLASSES))
        _, (V, rate) = jax.lax.scan(step, (quiet, quiet, quiet, silent, silent), spikes)
        return entropy(V.mean(axis=0), classes), rate.mean()

    return loss


def surrogate(way: str, neurons: int, batch: int) -> Loss:
    """Return a loss of the network that learns words, without the rate of spikes."""
    spikes, labels = map(jnp.asarray, words(batch, 0))
    return lambda weights: (LOSSES[way](weights, spikes, labels), jnp.zeros(()))


# Of each kind, the ways to take its gradient in this process.
WAYS: Final[dict[str, dict[str, Callable[[int, int], Loss]]]] = {
    EXACT: {
        "eventprop": functools.partial(exact, eventprop.lif),
        "eventprop.neuron": functools.partial(exact, of_model),
        JAX_SCAN: scan,
    },
    SURROGATE: {way: functools.partial(surrogate, way) for way in LOSSES},
}


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of value and gradient, the peak beyond the bytes before, the loss, and the rate."""
    kind, neurons = request["kind"], request["neurons"]
    loss = WAYS[kind][request["member"]](neurons, request["batch"])
    weights: Any = parameters(neurons) if kind == EXACT else first_weights(neurons, 0)
    step = jax.jit(jax.value_and_grad(loss, has_aux=True)).lower(weights).compile()
    work = finished(functools.partial(step, weights))
    figures, ((value, rate), _) = first_and_median(work, request["calls"])
    return figures | {"loss": float(value), "rate": float(rate)}
