"""The gradient of a batch of runs is one native call: of a sum over samples, or of each, as of the scan."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import lif_step
from event_ops.network import Network, Population, Projection, Record, TimedInput
from event_ops.surrogate import triangular

N, STEPS, BATCH = 17, 20, 5
LIF = {"tau_m": 10.0, "V_th": 1.0, "V_reset": 0.0, "t_ref": 0.0, "dt": 1.0}


def one(W, E_L, x, V_m, backend=None):
    """Return a loss of one sample: of recorded states, of counts of spikes, and of the last state."""
    network = Network(
        Population(N, lif_step, surrogate=triangular(), E_L=E_L, **LIF),
        [Projection(W, "jump", delay=1)],
        [TimedInput("I_syn", name="x")],
        Record(states={"V_m": np.arange(N), "spikes": np.arange(N)}, every=2),
    )
    state = network.state({"V_m": V_m, "refractory": jnp.zeros_like(V_m)})
    end, recording = network.run(state, STEPS, inputs={"x": x}, backend=backend)
    rate = recording.states["spikes"].sum(axis=0)
    return jnp.sin(recording.states["V_m"]).sum() + (rate**2).sum() + end.neurons["V_m"].sum()


def arrays():
    rng = np.random.default_rng(0)
    W, x = rng.normal(0.1, 0.5, (N, N)), rng.normal(0.5, 1.5, (BATCH, STEPS, N))
    return tuple(map(jnp.asarray, (W, np.linspace(0, 0.3, N), x, rng.uniform(0, 0.9, (BATCH, N)))))


def total(W, E_L, x, V_m, backend, axes=(None, None, 0, 0)):
    return jax.vmap(lambda *sample: one(*sample, backend), axes)(W, E_L, x, V_m).sum()


def gradient_of_batch(backend, W, E_L, x, V_m):
    return jax.jit(jax.grad(total, (0, 1, 2, 3)), static_argnums=4)(W, E_L, x, V_m, backend)


def gradient_of_shared_input(backend, W, E_L, x, V_m):
    return jax.grad(lambda now: total(W, E_L, now, V_m, backend, (None, None, None, 0)))(x[0])


def gradient_of_each(backend, W, E_L, x, V_m):
    return jax.vmap(jax.grad(one, (0, 1, 2, 3)), (None, None, 0, 0, None))(W, E_L, x, V_m, backend)


def gradient_of_many_networks(backend, W, E_L, x, V_m):
    several = jnp.stack([W, 2 * W])
    return jax.grad(lambda Ws: total(Ws, E_L, x[:2], V_m[:2], backend, (0, None, 0, 0)))(several)


def gradient_of_batches(backend, W, E_L, x, V_m):
    def of_weights(W):
        return jax.vmap(lambda k: total(W, E_L, k * x, V_m, backend))(jnp.asarray([1.0, 2.0])).sum()

    return jax.grad(of_weights)(W)


def forward_derivative(backend, W, E_L, x, V_m):
    return jax.jvp(lambda W: total(W, E_L, x, V_m, backend), (W,), (jnp.ones_like(W),))


@pytest.mark.parametrize(
    "function",
    [
        gradient_of_batch,
        gradient_of_shared_input,
        gradient_of_each,
        gradient_of_many_networks,
        gradient_of_batches,
        forward_derivative,
    ],
)
def test_derivatives_of_a_batch_are_those_of_the_scan(function):
    with jax.enable_x64(True):
        found, expected = (function(backend, *arrays()) for backend in (None, "reference"))
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert x.shape == y.shape and jnp.abs(y).max() > 0
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11 * (1 + float(jnp.abs(y).max())))


@pytest.mark.parametrize("function", [gradient_of_batch, gradient_of_each, forward_derivative])
def test_a_batch_of_no_samples_has_derivatives_of_0(function):
    with jax.enable_x64(True):  # as above: of kernels that are there
        W, E_L, x, V_m = arrays()
        given = W, E_L, x[:0], V_m[:0]
        found, full = function(None, *given), jax.eval_shape(lambda *given: function(None, *given), *given)
        assert [y.shape for y in jax.tree.leaves(found)] == [y.shape for y in jax.tree.leaves(full)]
        assert not any(jnp.any(y) for y in jax.tree.leaves(found))


def test_the_weights_of_a_batch_have_one_derivative_in_memory():
    W, E_L, x, V_m = arrays()
    traced = jax.make_jaxpr(jax.grad(total), static_argnums=4)(W, E_L, x, V_m, None)
    shapes = [v.aval.shape for equation in traced.jaxpr.eqns for v in equation.outvars]
    assert (N, N) in shapes and (BATCH, N, N) not in shapes
    names = [equation.primitive.name for equation in traced.jaxpr.eqns]
    assert names.count("network_run_and_keep") == names.count("network_gradient") == 1


def test_second_derivatives_are_refused_by_name():
    with jax.enable_x64(True):
        W, E_L, x, V_m = arrays()
        with pytest.raises(NotImplementedError, match="backend='reference'"):
            jax.hessian(one)(W, E_L, x[0], V_m[0])
