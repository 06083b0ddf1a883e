"""The network: recurrent LIF neurons between channels and a readout, its loss, and the same in JAX."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import lif_step
from event_ops.network import Network, Population, Projection, Record, TimedInput, parrot
from event_ops.surrogate import triangular
from event_ops_harness.networks.trained.data import CHANNELS, CLASSES
from event_ops_harness.networks.trained.parameters import DECAY, GAMMA, LIF, WIDTH

Weights = Mapping[str, Any]
SURROGATE: Final = triangular(gamma=GAMMA, width=WIDTH)


def network_of(weights: Weights) -> Network:
    """Return the network with these weights."""
    neurons = weights["recurrent"].shape[0]
    return Network(
        {
            "channels": Population(CHANNELS, parrot),
            "hidden": Population(neurons, lif_step, surrogate=SURROGATE, I_syn=0.0, **LIF),
            "out": Population(CLASSES, lif_step, I_syn=0.0, **LIF | {"V_th": 1e9}),
        },
        [
            Projection(weights["in"], "jump", delay=1, source="channels", target="hidden"),
            Projection(weights["recurrent"], "jump", delay=1, source="hidden", target="hidden"),
            Projection(weights["out"], "jump", delay=1, source="hidden", target="out"),
        ],
        [TimedInput("spikes", name="words", target="channels")],
        Record(states={"out": {"V_m": np.arange(CLASSES)}}),
    )


def scores(weights: Weights, spikes: jax.Array) -> jax.Array:
    """Return the mean potentials of the readout for one word."""
    network = network_of(weights)
    rest = {"V_m": 0.0, "refractory": 0.0}
    state = network.state({"channels": {"arrived": 0.0}, "hidden": rest, "out": rest})
    _, recording = network.run(state, spikes.shape[0], inputs={"words": spikes})
    return recording.states["out"]["V_m"].mean(axis=0)


def entropy(scores: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of a batch."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], axis=1)
    return -chosen.mean()


def loss(weights: Weights, spikes: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the loss of a batch, by a run of the network for each word."""
    return entropy(jax.vmap(scores, (None, 0))(weights, spikes), labels)


def spike_of(surrogate: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    """Return the function that is 1 above 0, with this derivative, as one writes it in JAX."""
    spike = jax.custom_jvp(lambda x: (x > 0).astype(x.dtype))
    spike.defjvp(lambda x, dx: (spike(*x), surrogate(*x) * dx[0]))
    return spike


_spike: Final = spike_of(SURROGATE)


def _plain(V: jax.Array, jump: jax.Array) -> tuple[jax.Array, jax.Array]:
    V = V * DECAY + jump
    spikes = _spike(V - LIF["V_th"])
    return V * (1 - jax.lax.stop_gradient(spikes)), spikes


def _stepped(V: jax.Array, jump: jax.Array) -> tuple[jax.Array, jax.Array]:
    V, _, spikes = lif_step(V, jnp.zeros_like(V), 0.0, jump=jump, surrogate=SURROGATE, **LIF)
    return V, spikes


def _of_scan(step: Callable[..., Any]) -> Callable[..., jax.Array]:
    """Return the same loss by a scan over steps of all words at once, with dense products."""

    def of_batch(weights: Weights, spikes: jax.Array, labels: jax.Array) -> jax.Array:
        arriving = jnp.swapaxes(spikes, 0, 1) @ weights["in"]  # of all steps in one product
        zeros = jnp.zeros_like(arriving[0])
        out = jnp.zeros((spikes.shape[0], CLASSES), zeros.dtype)

        def one(carry: Any, now: jax.Array) -> Any:
            V, before, out = carry
            out = out * DECAY + before @ weights["out"]
            V, fired = step(V, now + before @ weights["recurrent"])
            return (V, fired, out), out

        delayed = jnp.concatenate([zeros[None], arriving[:-1]])
        _, potentials = jax.lax.scan(one, (zeros, zeros, out), delayed)
        return entropy(potentials.mean(axis=0), labels)

    return of_batch


JAX_SCAN: Final = "JAX scan"
LOSSES: Final = {"one call": loss, "scan of lif_step": _of_scan(_stepped), JAX_SCAN: _of_scan(_plain)}
