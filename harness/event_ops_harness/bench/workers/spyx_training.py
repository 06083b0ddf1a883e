"""The network that learns words in spyx, as `bench training` measures it beside ours.

Its neurons send the spikes of a step in the next, as those of ours arrive.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import optax
import spyx
from flax import nnx

from event_ops_harness.bench.workers.resident import first_and_median
from event_ops_harness.networks.trained.data import CHANNELS, CLASSES, words
from event_ops_harness.networks.trained.parameters import DECAY, WIDTH, first_weights


class Reset(spyx.nn.RLIF):
    """Recurrent LIF neurons as the library has them, but set to 0 by a spike: it subtracts the threshold."""

    def __call__(self, x: jax.Array, V: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the spikes of the step before, and new potentials."""
        spikes = self.spike(V - self.threshold)
        kept = jnp.clip(self.beta[...], 0, 1) * V * (1 - jax.lax.stop_gradient(spikes))
        return spikes, kept + x + spikes @ self.recurrent_w[...]


def model(neurons: int) -> Any:
    """Return the layers, with the first weights."""
    weights, rngs = first_weights(neurons, 0), nnx.Rngs(0)
    axon, beta = spyx.axn.triangular(1 / WIDTH), float(DECAY)
    layers = spyx.nn.Sequential(
        nnx.Linear(CHANNELS, neurons, use_bias=False, rngs=rngs),
        Reset((neurons,), beta, activation=axon, rngs=rngs),
        nnx.Linear(neurons, CLASSES, use_bias=False, rngs=rngs),
        spyx.nn.LI((CLASSES,), beta, rngs=rngs),
    )
    layers.layers[0].kernel[...] = jnp.asarray(weights["in"])
    layers.layers[1].recurrent_w[...] = jnp.asarray(weights["recurrent"])
    layers.layers[2].kernel[...] = jnp.asarray(weights["out"])
    return layers


def loss(layers: Any, spikes: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the loss of spikes (steps, batch, channels)."""
    potentials, _ = spyx.nn.run(layers, spikes)
    return optax.softmax_cross_entropy_with_integer_labels(potentials.mean(0), labels).mean()


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of value and gradient, the peak beyond the bytes before, the loss, the version."""
    heard, labels = words(request["batch"], 0)
    late = jnp.zeros_like(heard).at[:, 1:].set(heard[:, :-1]).swapaxes(0, 1)
    graph, weights = nnx.split(model(request["neurons"]))
    step = jax.jit(
        jax.value_and_grad(lambda weights: loss(nnx.merge(graph, weights), late, jnp.asarray(labels)))
    )
    compiled = step.lower(weights).compile()
    figures, (value, _) = first_and_median(lambda: jax.block_until_ready(compiled(weights)), request["calls"])
    return figures | {"loss": float(value), "version": version("spyx")}
