"""What a spike adds to a state has the derivative of the spike, in models as in the catalog."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_neuron_step import IZHIKEVICH, lif

from event_ops import adex_step, alif_step, izhikevich_step, neuron_step
from event_ops.catalog.adex_step import cases as of_adex
from event_ops.catalog.alif_step import cases as of_alif
from event_ops.catalog.izhikevich_step.cases import REGULAR_SPIKING
from event_ops.surrogate import fast_sigmoid

SURROGATE = fast_sigmoid(0.1)


def adex(V_m, w, *, I_e, g_L, E_L, C_m, Delta_T, V_th, a, tau_w, V_peak, dt):
    """Heun's method, as in the catalog."""

    def slopes(V, w):
        V = jnp.minimum(V, V_peak)
        current = g_L * (E_L - V) + g_L * Delta_T * jnp.exp((V - V_th) / Delta_T) - w + I_e
        return dt * current / C_m, dt * (a * (V - E_L) - w) / tau_w

    dV, dw = slopes(V_m, w)
    dV_end, dw_end = slopes(V_m + dV, w + dw)
    return V_m + (dV + dV_end) / 2, w + (dw + dw_end) / 2


ADEX = neuron_step(
    adex,
    threshold=lambda V_m, w, *, V_peak: V_m - V_peak,
    reset=lambda V_m, w, *, V_reset, b: (V_reset, b + w),
    held=("V_m",),
)
ALIF = neuron_step(
    lambda V_m, a, *, I_syn, E_L, tau_m, tau_a, dt: (
        lif(V_m, I_syn=I_syn, E_L=E_L, tau_m=tau_m, dt=dt),
        a * jnp.exp(-dt / tau_a),
    ),
    threshold=lambda V_m, a, *, V_th, beta, tau_a, dt: V_m - V_th - beta * a * jnp.exp(dt / tau_a),
    reset=lambda V_m, a, *, V_reset: (V_reset, a + 1),
    held=("V_m",),
)


def adex_of_catalog(V_m, w, refractory, **options):
    none = jnp.zeros_like(V_m)
    V_m, refractory, _, _, w, spikes = adex_step(V_m, refractory, none, none, w, substeps=1, **options)
    return V_m, w, refractory, spikes


def alif_of_catalog(V_m, a, refractory, **options):
    V_m, refractory, a, spikes = alif_step(V_m, refractory, a, **options)
    return V_m, a, refractory, spikes


# name -> the step of the catalog and the model, states, options.
NEURONS = {
    "izhikevich": (izhikevich_step, IZHIKEVICH, (25.0, -13.0), {**REGULAR_SPIKING, "I_syn": 40.0}),
    "adex": (adex_of_catalog, ADEX, (-45.0, 20.0, 0.0), {**of_adex.ADAPTIVE, "I_e": 900.0}),
    "alif": (alif_of_catalog, ALIF, (-49.0, 0.1, 0.0), {**of_alif.ADAPTIVE, "I_syn": 30.0}),
}


@pytest.mark.parametrize("name", NEURONS)
@pytest.mark.parametrize("more", [0.0, 1e4])
def test_derivatives_are_those_of_the_catalog(name, more):
    """Compare those of all states in all states and parameters, below the threshold and above."""
    by_hand, model, states, options = NEURONS[name]
    current = "I_e" if "I_e" in options else "I_syn"
    with jax.enable_x64(True):
        states = tuple(jnp.full(1, x) for x in states)
        options = {key: jnp.asarray(x) for key, x in options.items()}
        options[current] = jnp.full(1, options[current] + more)

        def after(step, states, options):
            taken = model.model.variables if step is model else options
            used = {key: x for key, x in options.items() if key in taken}
            return step(*states, **used, surrogate=SURROGATE, backend="reference")

        for x, y in zip(after(model, states, options), after(by_hand, states, options), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
        found, expected = (
            jax.jacrev(functools.partial(after, step), (0, 1))(states, options) for step in (model, by_hand)
        )
        for x, y in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-15)
        rises = found[1][0][0]  # of the state that a spike adds to, in V_m
        assert abs(rises).min() > 1e-9


def one(V, w, *, x):
    return V + x, w


def slope_of(reset, V=1.0, **states):
    """Return the derivatives of V and w in x, of a neuron with a threshold of 0."""
    step = neuron_step(one, threshold=lambda V, w: V, reset=reset, **states)

    def after(x):
        held = () if not states else (jnp.full(1, 5.0),)
        times = {} if not states else {"t_ref": 1.0, "dt": 1.0}
        found = step(jnp.full(1, V), jnp.full(1, 3.0), *held, x=x, **times, surrogate=SURROGATE)
        return jnp.stack([x[0] for x in found[:2]])

    return jax.jacfwd(after)(1.0)


S = float(SURROGATE(jnp.asarray(2.0)))
LONG = 80  # turns of a loop that stays one


RESETS = {
    "set": (lambda V, w: (0.0, 0.0), [0, 0]),
    "left": (lambda V, w: (V, w), [1, 0]),
    "added": (lambda V, w: (0.0, w + 4), [0, 4 * S]),
    "taken away": (lambda V, w: (V - 5, w - 4), [1 - 5 * S, -4 * S]),
    "two terms": (lambda V, w: (0.0, 1 + (w + 4)), [0, 5 * S]),
    "by another state": (lambda V, w: (0.0, w + V), [0, 1 + 2 * S]),
    "negative": (lambda V, w: (0.0, 4 - w), [0, 0]),
    "twice": (lambda V, w: (0.0, w + w), [0, 0]),
    "clipped": (lambda V, w: (0.0, jnp.minimum(w + 4, 9)), [0, 0]),
    "in a loop": (lambda V, w: (0.0, jax.lax.fori_loop(0, LONG, lambda _, w: w + 0.05, w)), [0, 4 * S]),
    "in a loop, by what it carries": (
        lambda V, w: (0.0, jax.lax.fori_loop(0, LONG, lambda _, s: (s[0] + s[1], s[1] * 0.5), (w, 2.0))[0]),
        [0, 4 * S],
    ),
    "scaled in a loop": (
        lambda V, w: (0.0, jax.lax.fori_loop(0, LONG, lambda _, w: w * 0.99 + 0.05, w)), [0, 0]
    ),
    "of a function": (lambda V, w: (0.0, jax.jit(lambda w: w + 4)(w)), [0, 4 * S]),
}  # fmt: skip


@pytest.mark.parametrize("name", RESETS)
def test_sums_alone_have_the_derivative_of_the_spike(name):
    reset, expected = RESETS[name]
    np.testing.assert_allclose(slope_of(reset), expected, rtol=1e-6, atol=1e-9)


def test_a_held_neuron_hides_what_a_spike_would_add():
    np.testing.assert_array_equal(slope_of(lambda V, w: (0.0, w + jnp.inf), held=("V",)), [0, 0])
