"""What a synaptic current moves a membrane by, against 50 decimal digits, and so its derivatives."""

import warnings
from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import lif_expsyn_step
from event_ops.kernels.reference.decay import current_gain

H = Decimal("1e-20")
CONSTANTS = [
    *((10, 10, 0.1), (10, 10.0005, 0.1), (10, 10.002, 0.1), (10.01, 10, 0.1), (2, 2, 2)),
    *((10, 0.5, 0.1), (10, 5, 20), (1.9, 2, 2), (1, 2, 2), (0.01, 5, 1), (5, 0.01, 1), (0.001, 5, 1)),
]


def gain(tau_m, tau_syn, dt):
    """The docstring's formula in decimal numbers; as a double."""
    if tau_m == tau_syn:
        return dt / tau_m * (-dt / tau_m).exp()
    return tau_syn / (tau_syn - tau_m) * ((-dt / tau_syn).exp() - (-dt / tau_m).exp())


def derivatives(tau_m, tau_syn, dt):
    """Zeroth, first and second in tau_syn."""
    with localcontext() as context:
        context.prec = 80
        tau_m, tau_syn, dt = (Decimal(float(x)) for x in (tau_m, tau_syn, dt))
        left, here, right = (gain(tau_m, tau_syn + h, dt) for h in (-H, Decimal(0), H))
        return [float(x) for x in (here, (right - left) / (2 * H), (right - 2 * here + left) / H**2)]


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-12), ("float32", 5e-6)])
@pytest.mark.parametrize("constants", CONSTANTS)
def test_the_gain_and_its_derivatives(constants, dtype, rtol):
    with jax.enable_x64(True):
        tau_m, tau_syn, dt = (np.dtype(dtype).type(x) for x in constants)
        value, first, second = derivatives(tau_m, tau_syn, dt)

        def traced(tau_syn):
            return current_gain(jnp.asarray(tau_m), tau_syn, dt, dtype)

        tiny = np.finfo(dtype).tiny
        np.testing.assert_allclose(current_gain(tau_m, tau_syn, dt, dtype), value, rtol=rtol)
        np.testing.assert_allclose(jax.jit(traced)(jnp.asarray(tau_syn)), value, rtol=rtol)
        np.testing.assert_allclose(jax.jit(jax.grad(traced))(tau_syn), first, rtol=100 * rtol, atol=tiny)
        found = jax.jit(jax.grad(jax.grad(traced)))(tau_syn)
        np.testing.assert_allclose(found, second, rtol=1000 * rtol, atol=tiny)


@pytest.mark.slow
def test_a_step_that_is_long_for_one_neuron_leaves_the_others_their_gradients():
    constants = {"E_L": -65.0, "V_th": -50.0, "V_reset": -65.0, "t_ref": 2.0, "tau_syn": 5.0, "dt": 1.0}

    def second_potential(factor):
        tau_m = factor * jnp.array([0.01, 10.0])
        V, refractory, I_syn = jnp.full(2, -60.0), jnp.zeros(2), jnp.ones(2)
        return lif_expsyn_step(V, refractory, I_syn, tau_m=tau_m, **constants)[0][1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h = 1e-2
        difference = (second_potential(1 + h) - second_potential(1 - h)) / (2 * h)
        assert jax.grad(second_potential)(1.0) == pytest.approx(float(difference), rel=1e-2)
