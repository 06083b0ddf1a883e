"""`eventprop.neuron`: exact gradients for neurons of a model of one's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eventprop_layers import BACKENDS, INPUTS, NEURONS, TIMES, layer, run

from event_ops import CSR, eventprop, neuron_step

OPTIONS = {"dt": 1.0, "steps": 40, "capacity": 80, "target": "I"}


def lif(V, I, *, tau_m, tau_syn, E_L, dt):
    gain = jnp.expm1((1 / tau_m - 1 / tau_syn) * dt) / (1 - tau_m / tau_syn)
    V = E_L + (V - E_L) * jnp.exp(-dt / tau_m) + gain * jnp.exp(-dt / tau_m) * I
    return V, I * jnp.exp(-dt / tau_syn)


LIF = neuron_step(
    lif,
    threshold=lambda V, I, *, V_th: V - V_th,
    reset=lambda V, I, *, V_reset: (V_reset, I),
    held=("V",),
)


def adaptive(V, I, a, *, tau_m, tau_syn, tau_a, dt):
    """Exponential Euler: not the solution, since I decays, and a threshold that decays."""
    return I + (V - I) * jnp.exp(-dt / tau_m), I * jnp.exp(-dt / tau_syn), a * jnp.exp(-dt / tau_a)


def exponential(V, I, *, tau_m, tau_syn, V_T, slope, dt):
    """Heun's method."""

    def moving(V, I):
        return (slope * jnp.exp((V - V_T) / slope) - V + I) / tau_m

    end = I * (1 - dt / tau_syn)
    first = moving(V, I)
    return V + dt / 2 * (first + moving(V + dt * first, end)), I - dt / 2 / tau_syn * (I + end)


MODELS = {
    "adaptive": (
        neuron_step(
            adaptive,
            threshold=lambda V, I, a, *, V_th: V - V_th - a,
            reset=lambda V, I, a, *, jump: (0.1 * V, I, a + jump),
            held=("V",),
        ),
        {"V": 0.1, "I": 0.4, "a": 0.2},
        {"tau_m": 15.0, "tau_syn": 5.0, "tau_a": 30.0, "V_th": 0.6, "jump": 0.3, "t_ref": 1.7},
    ),
    "exponential": (
        neuron_step(
            exponential,
            threshold=lambda V, I, *, peak=2.0: V - peak,
            reset=lambda V, I: (jnp.full_like(V, -0.3), I),
        ),
        {"V": 0.1, "I": 0.4},
        {"tau_m": 15.0, "tau_syn": 5.0, "V_T": 0.8, "slope": 0.2},
    ),
}


def each(values, seed):
    """Return a value near the given one for each neuron."""
    rng = np.random.default_rng(seed)
    return {name: jnp.asarray(x * rng.uniform(0.9, 1.1, NEURONS)) for name, x in values.items()}


def loss_of(model, who, backend="reference", **options):
    by_time = np.random.default_rng(4).normal(size=80)

    def loss(when, weights, recurrent, delay, recurrent_delay, states, variables):
        given = {"delay": delay, "recurrent_delay": recurrent_delay, **OPTIONS, **options}
        spikes = eventprop.neuron(
            model, when, who, weights, recurrent, states=states, variables=variables, backend=backend, **given
        )
        times = jnp.where(jnp.isfinite(spikes.times), spikes.times, 0)
        return (times * by_time[: times.size].astype(times.dtype)).sum(), spikes

    return loss


def gradients_of(loss, given):
    return jax.jit(jax.value_and_grad(loss, argnums=tuple(range(len(given))), has_aux=True))(*given)


def same(found, expected, tolerance):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("of_weights", [False, True])
def test_the_closed_form_of_a_lif_neuron_is_found_from_its_functions(of_weights, backend):
    with jax.enable_x64(True):
        when, who, *synapses = layer(2, of_weights)
        levels = each({"V_th": 1.0, "V_reset": -0.2, "E_L": 0.3}, 0)
        states, t_ref = each({"V": 0.1, "I": 0.2}, 1), 2.5
        loss = loss_of(LIF, who, backend)

        def from_functions(when, weights, recurrent, delay, recurrent_delay, states, levels):
            variables = {**levels, **TIMES, "t_ref": t_ref}
            return loss(when, weights, recurrent, delay, recurrent_delay, states, variables)

        def closed(when, weights, recurrent, delay, recurrent_delay, states, levels):
            state = {"V_m": states["V"], "I_syn": states["I"]}
            given = when, who, weights, recurrent, delay, recurrent_delay
            spikes = run(*given, **levels, **state, t_ref=t_ref)
            by_time = np.random.default_rng(4).normal(size=80)
            return (jnp.where(jnp.isfinite(spikes.times), spikes.times, 0) * by_time).sum(), spikes

        given = when, *synapses, states, levels
        (_, spikes), found = gradients_of(from_functions, given)
        (_, wanted), expected = gradients_of(closed, given)
        assert int(wanted.num_spikes) > 3
        np.testing.assert_array_equal(spikes.ids, wanted.ids)
        same((spikes.times, found), (wanted.times, expected), 1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_are_differences_of_losses(name):
    model, states, variables = MODELS[name]
    with jax.enable_x64(True):
        when, who, *synapses = layer(2)
        given = when, *synapses, each(states, 0), each(variables, 1)
        loss = loss_of(model, who)
        (_, spikes), gradients = gradients_of(loss, given)
        assert int(spikes.num_spikes) > 6 and np.bincount(spikes.ids)[:NEURONS].max() > 1
        value, rng = jax.jit(loss), np.random.default_rng(3)
        leaves, tree = jax.tree.flatten(given)
        for k, (x, gradient) in enumerate(zip(leaves, jax.tree.leaves(gradients), strict=True)):
            direction, ends = jnp.asarray(rng.normal(size=x.shape)), []
            for step in (1e-6, -1e-6):
                moved = [*leaves[:k], x + step * direction, *leaves[k + 1 :]]
                end, near = value(*tree.unflatten(moved))
                np.testing.assert_array_equal(near.ids, spikes.ids)
                ends.append(end)
            assert np.abs(gradient).max() > 1e-6
            difference, found = (ends[0] - ends[1]) / 2e-6, (gradient * direction).sum()
            np.testing.assert_allclose(found, difference, rtol=1e-5, atol=1e-5)


def test_backends_batches_and_a_csr_have_the_same_derivatives():
    model, states, variables = MODELS["adaptive"]
    with jax.enable_x64(True):
        when, who, weights, recurrent, delay, between = layer(2, of_weights=True)
        batch, rest = when[None] + jnp.arange(2.0)[:, None], (each(states, 0), each(variables, 1))
        A, B = CSR.from_dense(weights), CSR.from_dense(recurrent)

        def dense(backend, weights, recurrent, delay, between, *rest):
            loss = loss_of(model, who, backend)
            one = lambda when: loss(when, weights, recurrent, delay, between, *rest)[0]  # noqa: E731
            return jax.vmap(one)(batch).sum()

        def sparse(backend, weights, recurrent, *given):
            loss, matrices = loss_of(model, who, backend), (A.with_data(weights), B.with_data(recurrent))
            return loss(batch[0], *matrices, *given)[0] + loss(batch[1], *matrices, *given)[0]

        synapses = weights, recurrent, delay, between
        flat = *(x.reshape(-1) for x in synapses), *rest
        found = []
        for backend in BACKENDS:
            for total, given in ((dense, (*synapses, *rest)), (sparse, flat)):
                gradients = jax.jit(jax.grad(total, tuple(range(1, 7))), static_argnums=0)(backend, *given)
                found.append([x.reshape(-1) for x in jax.tree.leaves(gradients)])
        assert all(np.abs(x).max() > 1e-3 for x in found[0])
        for gradients in found[1:]:
            same(gradients, found[0], 1e-10)


def test_a_layer_without_synapses_between_neurons_is_the_same_on_all_backends():
    model, states, variables = MODELS["exponential"]
    when, who, weights, _, delay, _ = layer(1)
    floats = when, 1.5 * jnp.abs(weights), delay, each(states, 0), each(variables, 1)
    given, found = jax.tree.map(lambda x: x.astype(jnp.float32), floats), []
    for backend in BACKENDS:
        loss = loss_of(model, who, backend)

        def layered(when, weights, delay, states, variables, loss=loss):
            return loss(when, weights, None, delay, None, states, variables)

        found.append(gradients_of(layered, given))
    ((_, spikes), gradients), ((_, wanted), expected) = found
    assert int(wanted.num_spikes) > 6
    np.testing.assert_array_equal(spikes.ids, wanted.ids)
    same((spikes.times, gradients), (wanted.times, expected), 2e-3)


def pairs(**changes):
    """Return arguments of a call that is refused, but for what is changed."""
    given = {"times": jnp.ones(2), "ids": jnp.zeros(2, jnp.int32), "weights": jnp.ones((INPUTS, NEURONS))}
    variables = {**TIMES, "E_L": 0.0, "V_th": 1.0, "V_reset": 0.0, "t_ref": 1.0}
    options = {"model": LIF, "states": {"V": 0.0, "I": 0.0}, "variables": variables, "delay": 1.0}
    return {**given, **options, **OPTIONS, **changes}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"variables": {"E_L": 2.0, "V_reset": 1.0}}, -1),
        ({"variables": {"E_L": jnp.float32(jnp.nan)}}, -1),
        ({"states": {"V": 1.0, "I": 0.0}}, -1),
        ({"variables": {"E_L": 2.0, "t_ref": 0.0}, "capacity": 5}, 6),
    ],
)
def test_what_cannot_be_right_is_nan(changes, count, backend):
    given = pairs(backend=backend)
    merged = {k: {**given[k], **x} if isinstance(x, dict) else x for k, x in changes.items()}
    spikes = eventprop.neuron(**{**given, **merged})
    assert int(spikes.num_spikes) == count and np.isnan(spikes.times).all()


def model_of(**changes):
    parts = {
        "integrate": lambda V, I, *, dt: (V + dt * (I - V), I * (1 - dt / 5)),
        "threshold": lambda V, I: V - 1,
        "reset": lambda V, I: (0.0 * V, I),
    }
    return {"model": neuron_step(**(parts | changes)), "variables": {}}


def stepping(V, I, *, dt):
    return V + 0.1 * (I - V) + 0 * dt, I


def undefined_at_0(V, I, *, dt):
    return V + dt * jnp.expm1(dt) / dt, I


def floored(V, I, *, dt):
    return jnp.floor(V) + dt, I


def in_loop(V, I, *, dt):
    return jax.lax.fori_loop(0, 70, lambda _, V: jnp.where(V > I, V, V + dt), V), I


REFUSED = {
    "no model": ({"model": lif}, TypeError, "model is a function; expected what event_ops.neuron_step"),
    "no dt": (model_of(integrate=lambda V, I: (V, I)), ValueError, "takes no dt; expected a function of the"),
    "no flow": (model_of(integrate=stepping), ValueError, "stepping returns .* and dt = 0; expected these"),
    "0 / 0": (model_of(integrate=undefined_at_0), ValueError, "undefined_at_0 returns nan, .* and dt = 0"),
    "dt elsewhere": (model_of(threshold=lambda V, I, *, dt: V - dt), ValueError, "threshold takes dt"),
    "before": (
        model_of(threshold=lambda V, I, *, V_before: V_before - V),
        ValueError,
        "threshold takes V_before: states of a step before",
    ),
    "no reset": (model_of(reset=None), ValueError, "model has no reset"),
    "noise": (
        model_of(integrate=lambda V, I, *, xi, dt: (V + xi * dt, I), noise={"xi": "normal"}),
        ValueError,
        "model has noise={'xi': 'normal'}; expected none",
    ),
    "observed": (
        model_of(integrate=lambda V, I, *, dt: (V, I, {"x": V}), observed=("x",)),
        ValueError,
        r"model has observed=\('x',\)",
    ),
    "flag": (model_of(threshold=lambda V, I: V > 1), TypeError, "returns a flag, which has no root"),
    "jump": (model_of(integrate=floored), ValueError, "floored uses 'floor' of the states or of dt"),
    "jump in a loop": (model_of(integrate=in_loop), ValueError, "in_loop uses 'gt' of the states or of dt"),
    "jump of the reset": (
        model_of(reset=lambda V, I: (jnp.sign(I), I)),
        ValueError,
        "uses 'sign' of the states",
    ),
    "target": ({"target": "J"}, ValueError, "target is 'J'; expected the state to which weights are added"),
    "delta": ({"target": "V"}, ValueError, "threshold depends on 'V', to which weights are added"),
    "no state": ({"states": {"V": 0.0}}, TypeError, "states has no I; expected V, I"),
    "variables": (
        {"variables": {**TIMES, "E_K": 0.0, "E_L": 0.0, "V_reset": 0.0, "t_ref": 1.0}},
        TypeError,
        "variables has no V_th and the unknown E_K; expected",
    ),
    "integer state": ({"states": {"V": jnp.zeros(NEURONS, int), "I": 0.0}}, TypeError, "V has dtype int32"),
    "t_ref": (
        {"variables": {**TIMES, "E_L": 0.0, "V_th": 1.0, "V_reset": 0.0, "t_ref": -1.0}},
        ValueError,
        "t_ref is or contains -1.0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_exact_gradient_is_refused_by_name(name):
    changes, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        eventprop.neuron(**pairs(**changes))


def test_a_kink_a_gap_that_is_filled_and_a_comparison_of_variables_are_taken():
    def smooth(V, I, *, dt, a):
        filled = jnp.where(V == 0, dt, jnp.expm1(V * dt) / jnp.where(V == 0, 1, V))
        return jnp.where(a > 0, jnp.maximum(V, -1) + 0 * filled, V), I

    options = model_of(integrate=smooth) | {"variables": {"a": 1.0}}
    assert int(eventprop.neuron(**pairs(**options)).num_spikes) == 0
