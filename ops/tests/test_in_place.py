"""State that a loop over time steps carries is updated in place."""

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import expsyn_step, lif_step, scatter_add
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
