"""Yin-Yang by EventProp: exact gradients of times of spikes train weights, and delays, of a network.

A point of the picture is in Yin, in Yang, or in one of the two dots. It is given as five spikes, at times
that say x, y, 1 - x, 1 - y, and at time 0. Hidden neurons and three output neurons spike; the class is the
output that spikes first. The loss is the cross entropy of softmax(-first / TAU): a function of times alone.

Source: Kriener, Göltz and Petrovici (2022), The Yin-Yang dataset, NICE 2022, arXiv:2102.08211; times to first
spikes as in Göltz et al. (2021), Nat. Mach. Intell. 3, 823-835; delays that learn as in Meszaros, Knight and
Nowotny (2025), arXiv:2501.07331.
"""

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from event_ops import eventprop

INPUTS, HIDDEN, CLASSES = 5, 120, 3
SPAN, TAU = 20.0, 1.0  # ms: of times of inputs, and of the softmax
NEURON = {"tau_m": 20.0, "tau_syn": 5.0, "dt": 1.0, "steps": 50}
MOST = {"hidden": 4 * HIDDEN, "out": 90}  # spikes of a sample
LONGEST = 10.0  # ms, of delays
AWAKE, CLIP = 1.2, 0.5  # how high the right output's potential should rise, and norm of a gradient
R_BIG, R_SMALL = 0.5, 0.1


def class_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 0 for Yin, 1 for Yang, and 2 for a dot."""
    right = np.hypot(x - 1.5 * R_BIG, y - R_BIG)
    left = np.hypot(x - 0.5 * R_BIG, y - R_BIG)
    near_right, near_left = right <= R_SMALL, (left > R_SMALL) & (left <= 0.5 * R_BIG)
    is_yin = near_right | near_left | ((y > R_BIG) & (right > 0.5 * R_BIG))
    return np.where((right < R_SMALL) | (left < R_SMALL), 2, np.where(is_yin, 0, 1))


def points(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times of input spikes (size, INPUTS) in ms, and classes, equally many of each."""
    rng, wanted = np.random.default_rng(seed), np.arange(size) % CLASSES
    times = np.zeros((size, INPUTS), np.float32)
    missing = np.arange(size)
    while missing.size:
        x, y = rng.uniform(0, 2 * R_BIG, (2, missing.size))
        inside = np.hypot(x - R_BIG, y - R_BIG) <= R_BIG
        is_wanted = inside & (class_of(x, y) == wanted[missing])
        times[missing, :4] = SPAN * np.stack([x, y, 1 - x, 1 - y], axis=1)
        missing = missing[~is_wanted]
    return times, wanted


def start(seed: int, hidden: int) -> dict[str, Any]:
    """Return weights and delays, one of each for every synapse."""
    rng = np.random.default_rng(seed)
    into, out = (INPUTS, hidden), (hidden, CLASSES)
    first = {
        "into": rng.normal(2.5, 1.2, into),
        "out": rng.normal(20.0 / hidden, 16.0 / hidden, out),
        "into_delay": rng.uniform(0, 2, into),
        "out_delay": rng.uniform(0, 2, out),
    }
    return {name: jnp.asarray(x, jnp.float32) for name, x in first.items()}


def outputs(parameters: dict[str, Any], times: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return when the outputs spike first for one sample, and how high their potentials would rise.

    One that is silent counts as spiking at the end.
    """
    p = parameters
    delays = {name: jnp.clip(p[name], 0, LONGEST) for name in ("into_delay", "out_delay")}
    ids = jnp.arange(INPUTS, dtype=jnp.int32)
    hidden = eventprop.lif(
        times, ids, p["into"], delay=delays["into_delay"], capacity=MOST["hidden"], **NEURON
    )
    given = (hidden.times, hidden.ids, p["out"])
    out = eventprop.lif(*given, delay=delays["out_delay"], capacity=MOST["out"], **NEURON)
    V = eventprop.leaky_integrator(*given, delay=delays["out_delay"], **NEURON)
    return jnp.minimum(out.first(CLASSES), NEURON["dt"] * NEURON["steps"]), V.max(0)


def loss(parameters: dict[str, Any], times: jax.Array, classes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the mean cross entropy of a batch, and how many samples are right."""
    first, peak = jax.vmap(partial(outputs, parameters))(times)
    of_class = jnp.take_along_axis(peak, classes[:, None], axis=1)[:, 0]
    entropy = optax.softmax_cross_entropy_with_integer_labels(-first / TAU, classes)
    # An output that is silent has no spike to move, but a potential that can rise.
    asleep = jax.nn.relu(AWAKE - of_class)
    return (entropy + asleep).mean(), (first.argmin(1) == classes).sum()


def train(epochs: int, samples: int, batch: int, seed: int, hidden: int = HIDDEN, rate: float = 0.005) -> Any:
    """Yield loss and share of right samples, in training and of a test, and the parameters, each epoch."""
    times, classes = points(samples, seed)
    test, wanted = points(1000, seed + 1)
    count = epochs * (samples // batch)
    schedule = optax.cosine_decay_schedule(rate, count)
    # A spike that only just reaches the threshold has a very large derivative.
    optimizer = optax.chain(optax.clip_by_global_norm(CLIP), optax.adam(schedule))
    parameters = start(seed, hidden)
    state, rng = optimizer.init(parameters), np.random.default_rng(seed)

    @jax.jit
    def epoch(parameters: Any, state: Any, times: jax.Array, classes: jax.Array) -> Any:
        def step(carry: Any, given: Any) -> Any:
            parameters, state = carry
            (value, right), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, *given)
            changes, state = optimizer.update(gradient, state)
            return (optax.apply_updates(parameters, changes), state), (value, right)

        (parameters, state), (values, right) = jax.lax.scan(step, (parameters, state), (times, classes))
        return parameters, state, values.mean(), right.sum()

    for _ in range(epochs):
        order = rng.permutation(samples)[: samples // batch * batch].reshape(-1, batch)
        parameters, state, value, right = epoch(parameters, state, times[order], classes[order])
        _, tested = jax.jit(loss)(parameters, test, wanted)
        yield float(value), float(right) / order.size, float(tested) / wanted.size, parameters


def main() -> None:
    """Print how the share of right answers grows."""
    parser = argparse.ArgumentParser(description="Yin-Yang by exact gradients in weights and delays.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("epoch     loss  training      test")
    results = train(options.epochs, options.samples, options.batch, options.seed)
    for number, (value, right, tested, _) in enumerate(results, 1):
        print(f"{number:5d} {value:8.4f} {right:8.1%} {tested:9.1%}", flush=True)


if __name__ == "__main__":
    main()
