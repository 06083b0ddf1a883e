"""Training through spikes: the gradient of a loss through a hundred steps, by two ways."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

from event_ops import csr_event_matvec, csr_matvec, lif_step
from event_ops.surrogate import atan
from event_ops_harness.conformance.compare import assert_same

# A network: dense input, neurons, recurrent synapses in CSR (rows are presynaptic), CSR readout.
STEPS, INPUTS, NEURONS, OUTPUTS = 100, 5, 24, 3
UNIT = {"tau_m": 10.0, "E_L": 0.0, "V_th": 1.0, "V_reset": 0.0, "t_ref": 2.0, "dt": 1.0}


def network(rng):
    def sparse(rows, columns, scale):
        dense = rng.normal(0, scale, (rows, columns)) * (rng.random((rows, columns)) < 0.4)
        indptr = np.concatenate([[0], np.cumsum((dense != 0).sum(1))])
        return jnp.asarray(dense[dense != 0]), (jnp.asarray(dense.nonzero()[1]), jnp.asarray(indptr))

    recurrent, to_neurons = sparse(NEURONS, NEURONS, 0.8)
    out, to_outputs = sparse(OUTPUTS, NEURONS, 1.0)
    weights = {"in": jnp.asarray(rng.normal(0, 2, (NEURONS, INPUTS))), "recurrent": recurrent, "out": out}
    x = jnp.asarray(rng.random((STEPS, INPUTS)))
    return weights, to_neurons, to_outputs, x


def loss_of(to_neurons, to_outputs, backend, wrap=lambda step: step):
    def loss(weights, x):
        def step(state, x_t):
            V, held, spikes = state
            arrived = csr_event_matvec(
                weights["recurrent"], *to_neurons, spikes,
                shape=(NEURONS, NEURONS), transpose=True, backend=backend,
            )  # fmt: skip
            V, held, spikes = lif_step(
                V, held, weights["in"] @ x_t + arrived, **UNIT, surrogate=atan(), backend=backend
            )
            y = csr_matvec(weights["out"], *to_outputs, spikes, shape=(OUTPUTS, NEURONS), backend=backend)
            return (V, held, spikes), y

        zeros = jnp.zeros(NEURONS)
        _, ys = jax.lax.scan(wrap(step), (zeros, zeros, zeros), x)
        return jnp.sum((ys.mean(0) - 0.3) ** 2)

    return loss


def dense_of(data, indices, indptr, shape):
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    return jnp.zeros(shape).at[rows, indices].set(data)


def plain_loss(to_neurons, to_outputs):
    """The same without any operator of ours: the surrogate is a smooth function whose value is taken away."""

    def spike(x):
        smooth = jnp.arctan(jnp.pi * x) / jnp.pi
        return smooth + jax.lax.stop_gradient(jnp.where(x > 0, 1.0, 0.0) - smooth)

    def loss(weights, x):
        recurrent = dense_of(weights["recurrent"], *to_neurons, (NEURONS, NEURONS))
        out = dense_of(weights["out"], *to_outputs, (OUTPUTS, NEURONS))
        decay = np.exp(-0.1)

        def step(state, x_t):
            V, held, spikes = state
            V_inf = weights["in"] @ x_t + spikes @ recurrent
            V = jnp.where(held > 0.5, V, V_inf + (V - V_inf) * decay)
            spikes = jnp.where(held > 0.5, 0.0, spike(V - 1))
            held = jnp.where(spikes > 0, 2.0, jnp.maximum(held - 1, 0))
            return (jnp.where(spikes > 0, 0.0, V), held, spikes), out @ spikes

        zeros = jnp.zeros(NEURONS)
        _, ys = jax.lax.scan(step, (zeros, zeros, zeros), x)
        return jnp.sum((ys.mean(0) - 0.3) ** 2)

    return loss


@pytest.fixture(scope="module")
def trained():
    """A network, and its loss and gradients from plain JAX."""
    with jax.enable_x64(True):
        weights, *synapses, x = network(np.random.default_rng(3))
        value, grads = jax.jit(jax.value_and_grad(plain_loss(*synapses)))(weights, x)
        assert all(jnp.abs(g).max() > 1e-3 for g in grads.values())
        return weights, synapses, x, value, grads


@pytest.mark.slow
@backends("lif_step")
@pytest.mark.parametrize("wrap", [lambda step: step, jax.checkpoint], ids=["plain", "checkpoint"])
def test_gradient_through_a_hundred_steps(trained, backend, wrap):
    weights, synapses, x, value, grads = trained
    with jax.enable_x64(True):
        f = jax.jit(jax.value_and_grad(loss_of(*synapses, backend, wrap)))
        assert_same(f(weights, x), (value, grads), 1e-9)


@pytest.mark.slow
@backends("lif_step")
def test_vmap_of_a_gradient_through_a_hundred_steps(trained, backend):
    weights, synapses, x, value, grads = trained
    with jax.enable_x64(True):
        f = jax.value_and_grad(loss_of(*synapses, backend))
        batch = jnp.stack([x, x[::-1]])
        values, each = jax.jit(jax.vmap(f, (None, 0)))(weights, batch)
        assert_same((values[0], jax.tree.map(lambda g: g[0], each)), (value, grads), 1e-9)
        mean = jax.grad(lambda w: jax.vmap(loss_of(*synapses, backend), (None, 0))(w, batch).mean())
        assert_same(mean(weights), jax.tree.map(lambda g: g.mean(0), each), 1e-9)
