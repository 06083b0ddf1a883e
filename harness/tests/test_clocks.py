"""Clocks within a compiled program: what is computed stays, and the times are those of the operators."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import event_ops
from event_ops_harness.bench.clocks import clocked, no_clocks

pytest.importorskip("numba", reason="the clock is read by a Numba kernel")
OPERATORS = ("poisson_input", "spike_compact")


def step(y, mean):
    y = event_ops.poisson_input(1.0, 7, 3, mean=mean, initial=y)
    spikes = y > 1
    listed = [event_ops.spike_compact(spikes, capacity=8)[0] for _ in range(2)]
    return y + (listed[0].sum() + listed[1].sum()).astype(y.dtype)


def scan(y, clocks, mean):
    return jax.lax.scan(lambda x, _: (clocked(step, OPERATORS)(*x, mean), None), (y, clocks), length=20)[0]


@pytest.mark.slow
def test_a_clocked_step_computes_the_same_and_large_operators_take_longer():
    y, mean = jnp.zeros(50_000), jnp.full(50_000, 0.7)
    compiled = jax.jit(scan).lower(y, no_clocks(OPERATORS), mean).compile()
    _, clocks = compiled(y, no_clocks(OPERATORS), mean)  # begins the clock
    found, clocks = compiled(y, clocks.at[1:].set(0), mean)
    expected = y
    for _ in range(20):
        expected = step(expected, mean)
    np.testing.assert_array_equal(found, expected)
    _, drawing, listing, rest = np.asarray(clocks).tolist()
    assert drawing > listing > 0 and rest > 0
    # Both lists are of the same spikes: one operator, as in a program without clocks.
    assert compiled.as_text().count('custom_call_target="spike_compact') == 1


@pytest.mark.slow
def test_clocks_copy_neither_a_history_nor_sums():
    """A history is written in place and then read."""
    n, slots = 1000, 8
    indices, indptr = jnp.arange(n * slots) % n, jnp.arange(n * slots + 1)
    names = ("spike_compact", "csr_event_arrivals")

    def move(carry):
        y, history, t = carry
        ids, _ = event_ops.spike_compact(y > 1, capacity=50)
        history = jax.lax.dynamic_update_index_in_dim(history, ids, t % slots, 0)
        how = {"shape": (n, n), "initial": y, "encoding": "ids"}
        return event_ops.csr_event_arrivals(history, 1.0, indices, indptr, t, **how), history, t + 1

    def scan(carry, clocks):
        return jax.lax.scan(lambda x, _: (clocked(move, names)(*x), None), (carry, clocks), length=5)[0]

    start = jnp.zeros(n), jnp.full((slots, 50), n, jnp.int32), jnp.zeros((), jnp.int32)
    text = jax.jit(scan, donate_argnums=(0, 1)).lower(start, no_clocks(names)).compile().as_text()
    copied = set(re.findall(r"(\w+\[[\d,]*\])\S* copy\(", text))
    assert copied and not copied & {"s32[8,50]", "f32[1000]"}
