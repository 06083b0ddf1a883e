"""The network that learns words: ``python -m event_ops_harness.networks trained``.

It trains, and prints its accuracy; with ``--compare`` it measures value and gradient of one batch instead, of
each way in turn, in a process of its own: samples in a second, and memory beyond that of the program.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.networks.shared.cli import OneLineParser, positive_int
from event_ops_harness.networks.trained.data import words
from event_ops_harness.networks.trained.network import LOSSES, Weights, first_weights, loss, scores

RATE = 2e-3  # of Adam
ROUNDS = 5


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


def measure(name: str, neurons: int, batch: int) -> dict[str, float]:
    """Return seconds and megabytes of value and gradient of a batch, in this process."""
    spikes, labels = map(jnp.asarray, words(batch, 0))
    step = (
        jax.jit(jax.value_and_grad(LOSSES[name])).lower(first_weights(neurons, 0), spikes, labels).compile()
    )
    weights = first_weights(neurons, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        jax.block_until_ready(step(weights, spikes, labels))
        seconds.append(time.perf_counter() - begin)
    after, analysis = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, step.memory_analysis()
    temporary = analysis.temp_size_in_bytes if analysis else 0
    return {"seconds": min(seconds), "megabytes": temporary / 1e6, "grown": (after - before) / 1e3}


def compare(options: argparse.Namespace) -> None:
    """Print samples in a second and memory of each way, measured in turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in LOSSES}
    size = ["--neurons", str(options.neurons), "--batch", str(options.batch)]
    for turn in range(options.turns):
        for name in list(LOSSES)[:: 1 if turn % 2 == 0 else -1]:
            command = [sys.executable, "-m", "event_ops_harness.networks.trained", *size, "--measure", name]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
    for name, each in found.items():
        fastest = [options.batch / x["seconds"] for x in each]
        memory = median(x["megabytes"] for x in each), median(x["grown"] for x in each)
        print(
            f"{name:>17}: {median(fastest):7.0f} samples/s, {memory[0]:6.0f} MB of the program, grown by "
            f"{memory[1]:.0f} MB"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, or measure."""
    parser = OneLineParser(prog="trained", description=__doc__)
    add = parser.add_argument
    add("--neurons", type=positive_int, default=256, metavar="N", help="recurrent neurons; default: 256")
    add("--batch", type=positive_int, default=32, metavar="N", help="words of an update; default: 32")
    add("--updates", type=positive_int, default=200, metavar="N", help="default: 200")
    add("--words", type=positive_int, default=1000, metavar="N", help="of the training set; default: 1000")
    add("--seed", type=int, default=1, metavar="K", help="of words and first weights; default: 1")
    add("--compare", action="store_true", help="measure value and gradient, beside scans in JAX")
    add("--turns", type=positive_int, default=3, metavar="N", help="of a comparison; default: 3")
    add("--measure", choices=list(LOSSES), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.neurons, options.batch)))
    elif options.compare:
        compare(options)
    else:
        train(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
