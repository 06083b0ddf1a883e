"""Compare runs of a network in several shares with one: a program for a process with threads of Numba."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import CSR, CompactCSR, lif_expsyn_step, lif_step
from event_ops.network import (
    Network,
    Plasticity,
    PoissonInput,
    Population,
    Projection,
    Record,
    learning_plan,
    shares,
)

E, I = 150, 70
LIF = {"tau_m": 10.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -65.0, "t_ref": 1.0, "dt": 0.1}


def synapses(rows, columns, weight, seed):
    """Draw eight synapses a neuron, unsorted within their row."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(weight, abs(weight) / 10, 8 * rows).astype(np.float32)
    indptr = np.arange(0, 8 * rows + 1, 8, dtype=np.int32)
    return CSR(weights, rng.integers(0, columns, 8 * rows), indptr, shape=(rows, columns))


def in_parts(rows, columns, parts, seed):
    """Draw three columns a row in each of equal parts, of narrow words."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, columns // parts, 3 * rows * parts).astype(np.uint16)
    indptr = (np.arange(rows + 1) + rows * np.arange(parts)[:, None]).astype(np.int32) * 3
    return CompactCSR(words, indptr, np.float32(-30), shape=(rows, columns))


def depress(w, *, x_post, rate):
    return jnp.maximum(w - rate * w * x_post, 0)


def potentiate(w, *, x_pre, rate, mu_post):
    return w + rate * x_pre * w**mu_post


def learning(columns, **how):
    """Return rules, one of which changes synapses in blocks, with a power for each neuron."""
    named = {"traces": {"x_pre": 15.0, "x_post": 30.0}, "dt": 0.1, "rate": 0.01}
    mu_post = np.linspace(0.2, 0.6, columns, dtype=np.float32)
    return Plasticity(depress, potentiate, mu_post=mu_post, **named, **how)


def network():
    """Return a network with spikes that arrive at once, a step later, and with a delay of each synapse."""
    rng = np.random.default_rng(1)
    neurons = {
        "E": Population(E, lif_expsyn_step, tau_syn=0.5, R_m=0.04, I_e=400.0, **LIF),
        "I": Population(I, lif_step, I_syn=0.0, **LIF),
    }
    each = rng.integers(0, 9, 8 * E)
    projections = [
        Projection(synapses(E, E, 60.0, 2), "I_syn", delay=0, source="E", target="E"),
        Projection(synapses(E, E, 40.0, 3), "I_syn", delay=each, source="E", target="E"),
        Projection(synapses(E, I, 2.0, 4), "jump", delay=1, source="E", target="I"),
        Projection(synapses(E, I, 1.0, 5), "jump", delay=each + 1, source="E", target="I"),
        Projection(synapses(E, E, 20.0, 7), "I_syn", delay=0, plasticity=learning(E), source="E", target="E"),
        Projection(
            synapses(E, I, 1.0, 8),
            "jump",
            delay=2,
            plasticity=learning(I, post_delay=3, post_first=True),
            source="E",
            target="I",
        ),
        Projection(in_parts(I, E, 2, 6), "I_syn", delay=1, source="I", target="E"),
    ]
    inputs = [
        PoissonInput("I_syn", weight=120.0, mean=np.linspace(0.5, 1.6, E), target="E"),
        PoissonInput("jump", weight=2.0, mean=0.5, target="I"),
    ]
    record = Record(spikes=9000, states={"E": {"V_m": [149, 3, 70]}}, every=5)
    return Network(neurons, projections, inputs, record)


def runs_in(count, declared, state):
    """Return the ends and recordings of two runs, one after the other, in so many shares."""
    shares.most_shares = lambda *_: count
    # The number is read when a run is traced: JAX would call the program of another number.
    jax.clear_caches()
    half, begin = declared.run(state, 50)
    return (begin, *declared.run(half, 50))


def main():
    # Of one projection that learns spikes wait for their rows, and of the other they do not.
    learning_plan.may_defer = lambda part: part.plasticity.post_first
    declared = network()
    rest = {"V_m": -60.0, "refractory": 0.0}
    state = declared.state({"E": rest | {"I_syn": 0.0}, "I": rest}, seed=3)
    expected = runs_in(1, declared, state)
    assert expected[0].num_spikes + expected[2].num_spikes > 300
    for count in map(int, sys.argv[1:]):
        jax.tree.map(np.testing.assert_array_equal, runs_in(count, declared, state), expected)
    # In the shares of the last count.
    batch = jax.tree.map(lambda x: jnp.stack([x] * 3), state)
    ends, _ = jax.vmap(lambda x: declared.run(x, 100))(batch)
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x, np.stack([y] * 3)), ends, expected[1])


if __name__ == "__main__":
    main()
