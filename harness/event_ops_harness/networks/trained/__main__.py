"""The network that learns words: ``python -m event_ops_harness.networks trained``.

It trains, and prints its accuracy. `nox -s bench -- training` measures it.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.networks.shared.cli import OneLineParser, positive_int
from event_ops_harness.networks.trained.data import words
from event_ops_harness.networks.trained.network import Weights, loss, scores
from event_ops_harness.networks.trained.parameters import first_weights

RATE = 2e-3  # of Adam


@jax.jit
def update(carry: Any, spikes: jax.Array, labels: jax.Array) -> tuple[Any, jax.Array]:
    """Return weights and moments after a step of Adam, and the loss before it."""
    weights, mean, square, count = carry
    value, slope = jax.value_and_grad(loss)(weights, spikes, labels)
    count = count + 1
    mean = jax.tree.map(lambda m, x: 0.9 * m + 0.1 * x, mean, slope)
    square = jax.tree.map(lambda v, x: 0.999 * v + 0.001 * x**2, square, slope)
    rate = RATE * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, mean, square)
    return (weights, mean, square, count), value


@jax.jit
def accuracy(weights: Weights, spikes: jax.Array, labels: jax.Array) -> jax.Array:
    """Return how many words in one are told apart."""
    found = jax.vmap(scores, (None, 0))(weights, spikes).argmax(axis=1)
    return (found == labels).astype(jnp.float32).mean()


def train(options: argparse.Namespace) -> None:
    """Train, and print losses and accuracies of words that were never shown."""
    heard, labels = words(options.words, options.seed)
    unheard, answers = words(256, options.seed + 1)
    weights, rng = first_weights(options.neurons, options.seed), np.random.default_rng(options.seed)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    carry: Any = weights, zeros, zeros, jnp.float32(0)
    for turn in range(options.updates):
        chosen = rng.choice(options.words, options.batch, replace=False)
        carry, value = update(carry, heard[chosen], labels[chosen])
        if turn % 25 == 0 or turn == options.updates - 1:
            print(
                f"update {turn + 1:4}: loss {value:.2f}, accuracy {accuracy(carry[0], unheard, answers):.0%}"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, as the options say."""
    parser = OneLineParser(prog="trained", description=__doc__)
    add = parser.add_argument
    add("--neurons", type=positive_int, default=256, metavar="N", help="recurrent neurons; default: 256")
    add("--batch", type=positive_int, default=32, metavar="N", help="words of an update; default: 32")
    add("--updates", type=positive_int, default=200, metavar="N", help="default: 200")
    add("--words", type=positive_int, default=1000, metavar="N", help="of the training set; default: 1000")
    add("--seed", type=int, default=1, metavar="K", help="of words and first weights; default: 1")
    train(parser.parse_args(arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
