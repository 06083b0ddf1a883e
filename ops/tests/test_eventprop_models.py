"""`eventprop.neuron`: exact gradients for neurons of a model of one's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eventprop_layers import BACKENDS, NEURONS, TIMES, layer, run

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


def each(values, seed, neurons=NEURONS):
    """Return a value near the given one for each neuron."""
    rng = np.random.default_rng(seed)
    return {name: jnp.asarray(x * rng.uniform(0.9, 1.1, neurons)) for name, x in values.items()}


def summed(times):
    """Return a sum of times of spikes, each with a factor."""
    by_time = np.random.default_rng(4).normal(size=times.size).astype(times.dtype)
    return (jnp.where(jnp.isfinite(times), times, 0) * by_time).sum()


def many():
    """Return a layer of more neurons than a block has, with arrivals at one time, and when steps begin."""
    rng, neurons = np.random.default_rng(6), 300
    when, who = rng.integers(0, 6, 12) / 2, rng.integers(0, 6, 12)
    weights = rng.normal(1.6, 1.2, (6, neurons)), rng.normal(-0.02, 0.1, (neurons, neurons))
    delays = rng.integers(0, 4, 6) / 2, rng.uniform(1, 4, neurons)
    floats = [jnp.asarray(x) for x in (when, *weights, *delays)]
    return floats[0], jnp.asarray(who, jnp.int32), *floats[1:]


def loss_of(model, who, backend="reference", **options):
    def loss(when, weights, recurrent, delay, recurrent_delay, states, variables):
        given = {"delay": delay, "recurrent_delay": recurrent_delay, **OPTIONS, **options}
        spikes = eventprop.neuron(
            model, when, who, weights, recurrent, states=states, variables=variables, backend=backend, **given
        )
        return summed(spikes.times), spikes

    return loss


def gradients_of(loss, given):
    return jax.jit(jax.value_and_grad(loss, argnums=tuple(range(len(given))), has_aux=True))(*given)


def same(found, expected, tolerance):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("kind", "backend"), [*((x, y) for x in ("rows", "weights") for y in BACKENDS), ("many", BACKENDS[0])]
)
def test_the_closed_form_of_a_lif_neuron_is_found_from_its_functions(kind, backend):
    with jax.enable_x64(True):
        when, who, *synapses = many() if kind == "many" else layer(2, kind == "weights")
        neurons, sizes = synapses[1].shape[0], {"capacity": 600} if kind == "many" else {}
        levels = each({"V_th": 1.0, "V_reset": -0.2, "E_L": 0.3}, 0, neurons)
        states, t_ref = each({"V": 0.1, "I": 0.2}, 1, neurons), 2.5
        loss = loss_of(LIF, who, backend, **sizes)

        def from_functions(when, weights, recurrent, delay, recurrent_delay, states, levels):
            variables = {**levels, **TIMES, "t_ref": t_ref}
            return loss(when, weights, recurrent, delay, recurrent_delay, states, variables)

        def closed(when, weights, recurrent, delay, recurrent_delay, states, levels):
            state = {"V_m": states["V"], "I_syn": states["I"]}
            given = when, who, weights, recurrent, delay, recurrent_delay
            spikes = run(*given, **levels, **state, t_ref=t_ref, **sizes)
            return summed(spikes.times), spikes

        given = when, *synapses, states, levels
        (_, spikes), found = gradients_of(from_functions, given)
        (_, wanted), expected = gradients_of(closed, given)
        assert 3 < int(wanted.num_spikes) <= wanted.times.size
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


def clock(t, b, I, *, period, phase, dt):
    return t + dt, b, I


CLOCK = neuron_step(
    clock,
    threshold=lambda t, b, I, *, period, phase: jnp.cos(2 * jnp.pi * t / period + phase) - 0.9 - b,
    reset=lambda t, b, I: (t, b + 3, I),
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_spike_between_a_fall_and_another_or_two_rises_is_found(backend):
    def found(period, phase):
        given = jnp.full(1, jnp.inf), jnp.zeros(1, jnp.int32), jnp.zeros((1, 1))
        options = {"states": {"t": 0.0, "b": 0.0, "I": 0.0}, "delay": 0.0, "target": "I"}
        options |= {"dt": 1.0, "steps": 1, "capacity": 2, "backend": backend}
        variables = {"period": period, "phase": phase}
        return eventprop.neuron(CLOCK, *given, variables=variables, **options).times[0]

    # A fall before the maximum and behind it; a rise before and behind; a start at rest; no maximum, twice.
    cases = np.array([[0.9, 1.0], [0.9, 4.0], [1.1, np.pi], [1.6, 1.0], [4.0, 3.0]])
    phases = np.arccos(0.9)
    first = cases[:, 0] * (2 * np.pi - phases - cases[:, 1]) / (2 * np.pi)
    with jax.enable_x64(True):
        times = jax.jit(jax.vmap(found))(*jnp.asarray(cases).T)
    np.testing.assert_allclose(times, np.where(first < 1, first, np.inf), rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_spike_before_a_maximum_within_a_step_is_found(backend):
    """With tau_m = 2 * tau_syn, V = I * (x - x**2) where x = exp(-t / tau_m)."""

    def found(current):
        given = jnp.full(1, jnp.inf), jnp.zeros(1, jnp.int32), jnp.zeros((1, 1))
        variables = {"tau_m": 4.0, "tau_syn": 2.0, "E_L": 0.0, "V_th": 1.9, "V_reset": -9.0, "t_ref": 0.0}
        options = {"states": {"V": 0.0, "I": current}, "variables": variables, "delay": 0.0, "target": "I"}
        options |= {"dt": 8.0, "steps": 1, "capacity": 2, "backend": backend}
        return eventprop.neuron(LIF, *given, **options).times[0]

    def formula(current):
        return -4 * jnp.log((1 + jnp.sqrt(1 - 4 * 1.9 / current)) / 2)

    with jax.enable_x64(True):
        wanted = jax.value_and_grad(formula)(8.0)
        np.testing.assert_allclose(jax.value_and_grad(found)(8.0), wanted, rtol=1e-10)
