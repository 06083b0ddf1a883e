"""State that a loop over time steps carries is updated in place."""

import re

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import csr_event_arrivals, expsyn_step, lif_expsyn_step, lif_step, poisson_input, scatter_add
from event_ops.catalog.lif_expsyn_step.cases import NEURON
from event_ops.catalog.lif_step.cases import CUBA


def test_a_loop_over_time_steps_copies_no_state():
    state = (jnp.full(64, -60.0), jnp.zeros(64), jnp.zeros((2, 64)), jnp.zeros(64))
    synapses = jnp.ones(()), jnp.arange(128), jnp.arange(0, 129, 2)
    indices, updates = jnp.arange(5), jnp.ones(5)
    synapse = {"shape": (64, 128), "tau": np.array([[5.0], [10.0]]), "dt": 0.1}

    def step(_, state):
        V, held, g, total = state
        V, held, spikes = lif_step(V, held, g[0] - g[1], **CUBA, backend="numba_cpu")
        g = expsyn_step(g, *synapses, spikes, **synapse, backend="numba_cpu")
        return V, held, g, scatter_add(total, indices, updates, backend="numba_cpu")

    loop = jax.jit(lambda state: jax.lax.fori_loop(0, 9, step, state))
    computations = loop.lower(state).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 3]
    assert " copy(" not in body


def test_a_current_that_all_add_to_is_not_copied():
    history, indptr = jnp.full((4, 8), 64, jnp.int32), jnp.arange(0, 257)
    synapses, mean = (jnp.ones(()), jnp.arange(256) % 64, indptr), np.full(64, 0.5)

    def step(t, state):
        V, held, current, _ = lif_expsyn_step(*state, **NEURON, backend="numba_cpu")
        current = poisson_input(np.float32(1), 7, t, mean=mean, initial=current, backend="numba_cpu")
        options = {"shape": (64, 64), "encoding": "ids", "initial": current, "backend": "numba_cpu"}
        return V, held, csr_event_arrivals(history, *synapses, t, **options)

    state = (jnp.full(64, -60.0), jnp.zeros(64), jnp.zeros(64))
    loop = jax.jit(lambda state: jax.lax.fori_loop(0, 9, step, state))
    computations = loop.lower(state).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 3]
    assert set(re.findall(r"(\w+\[[\d,]*\])\S* copy\(", body)) <= {"s32[]"}  # the number of the step
