"""Spikes of `eventprop` are those of a simulation without a grid, and their derivatives are exact."""

import event_driven
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eventprop_layers import BACKENDS, INPUTS, NEURONS, READOUTS, STEPS, TIMES, layer, run

from event_ops import CSR, eventprop

TAUS = [(20.0, 5.0), (5.0, 5.0), (4.0, 9.0)]
REFRACTORY = [0.0, 0.3, 2.5]  # none, within a step, and over some


@pytest.mark.parametrize("of_weights", [False, True])
@pytest.mark.parametrize(("tau_m", "tau_syn"), TAUS)
@pytest.mark.parametrize("seed", range(3))
def test_spikes_are_those_of_a_simulation_without_a_grid(seed, tau_m, tau_syn, of_weights):
    with jax.enable_x64(True):
        given = layer(seed, of_weights)
        constants = {"tau_m": tau_m, "tau_syn": tau_syn, "V_reset": -0.2, "E_L": 0.3}
        constants["t_ref"] = REFRACTORY[seed]
        spikes = run(*given, **constants, capacity=400)
        when, who, weights, recurrent, delay, recurrent_delay = map(np.asarray, given)
        rows, delays = np.concatenate([weights, recurrent]), np.concatenate([delay, recurrent_delay])
        each = delays if of_weights else np.broadcast_to(delays[:, None], rows.shape)
        constants |= {"V_th": 1.0, "end": float(STEPS)}
        expected = sorted(event_driven.spikes(when, who, rows, each, INPUTS, **constants))
        count = int(spikes.num_spikes)
        assert count == len(expected) > 0
        np.testing.assert_allclose(spikes.times[:count], [time for time, _ in expected], atol=1e-11)
        np.testing.assert_array_equal(spikes.ids[:count], [j for _, j in expected])
        assert np.isinf(spikes.times[count:]).all() and (spikes.ids[count:] == NEURONS).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_latency_of_a_neuron_and_of_a_chain_are_those_of_the_closed_form(backend):
    def first(weight):
        """With tau_m = 2 * tau_syn, V = w * (x - x**2) where x = exp(-t / tau_m)."""
        return -20 * jnp.log((1 + jnp.sqrt(1 - 4 / weight)) / 2)

    def chain(weights, recurrent, delay, recurrent_delay):
        times, ids = jnp.array([2.0, jnp.inf]), jnp.array([0, 7])
        # Neuron 1 receives a weight that decays to nothing before neuron 0 could spike again.
        rows = jnp.stack([weights, jnp.zeros_like(weights)])[None]
        between = jnp.zeros((2, 2), weights.dtype).at[0, 1].set(recurrent)
        options = {"tau_m": 20.0, "tau_syn": 10.0, "V_reset": -9.0, "backend": backend}
        spikes = run(times, ids, rows, between, delay, recurrent_delay, **options)
        return spikes.times[:2]

    def formula(weights, recurrent, delay, recurrent_delay):
        begin = 2 + delay + first(weights)
        return jnp.stack([begin, begin + recurrent_delay + first(recurrent)])

    with jax.enable_x64(True):
        given = tuple(map(jnp.float64, (5.0, 6.0, 0.7, 1.9)))
        np.testing.assert_allclose(chain(*given), formula(*given), rtol=1e-12)
        wanted = jax.jacrev(formula, argnums=range(4))(*given)
        for found, expected in zip(jax.jacrev(chain, argnums=range(4))(*given), wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_constant_current_spikes_at_the_intervals_of_the_closed_form(backend):
    def found(levels):
        V_th, V_reset, E_L = levels
        given = jnp.array([jnp.inf]), jnp.zeros(1, jnp.int32), jnp.zeros((1, 1))
        options = {"V_th": V_th, "V_reset": V_reset, "E_L": E_L, "V_m": V_reset, "t_ref": 1.7}
        return run(*given, None, 0.0, None, **options, capacity=4, steps=30, backend=backend).times[:2]

    def formula(levels):
        V_th, V_reset, E_L = levels
        interval = TIMES["tau_m"] * jnp.log((E_L - V_reset) / (E_L - V_th))
        return jnp.stack([interval, 2 * interval + 1.7])

    with jax.enable_x64(True):
        levels = jnp.array([-50.0, -62.0, -32.0])
        np.testing.assert_allclose(found(levels), formula(levels), rtol=1e-12)
        np.testing.assert_allclose(jax.jacrev(found)(levels), jax.jacrev(formula)(levels), rtol=1e-10)


def test_a_spike_that_no_loss_depends_on_has_no_derivative_even_where_V_only_touches_V_th():
    """With tau_m = 2 * tau_syn the maximum of V is a quarter of the first I."""

    def first(current, by):
        given = jnp.array([jnp.inf]), jnp.zeros(1, jnp.int32), jnp.zeros((1, 1)), None, 0.0, None
        options = {"tau_m": 4.0, "tau_syn": 2.0, "V_reset": -9.0, "dt": 8.0, "steps": 1, "capacity": 1}
        spikes = run(*given, **options, V_th=jax.lax.stop_gradient(current) / 4, I_syn=current)
        return jnp.where(jnp.isfinite(spikes.times[0]), by * spikes.times[0], 0)

    with jax.enable_x64(True):
        currents = jnp.asarray(np.random.default_rng(0).uniform(1, 9, 500))
        slopes = jax.vmap(jax.grad(first), (0, None))
        assert not np.isfinite(slopes(currents, 1.0)).all()
        np.testing.assert_array_equal(slopes(currents, 0.0), 0)


def losses(seed, of_weights=False, **options):
    """Return a loss of times and of potentials of readouts, and what it is differentiated in."""
    when, who, *synapses = layer(seed, of_weights)
    rng = np.random.default_rng(seed)
    out = jnp.asarray(rng.normal(size=(NEURONS, READOUTS)))
    out_delay = jnp.asarray(rng.uniform(0, 3, out.shape if of_weights else NEURONS))
    state = jnp.asarray(rng.uniform(0, 0.8, (2, NEURONS)))
    by_time, by_potential = rng.normal(size=80), rng.normal(size=(STEPS, READOUTS))
    levels = {"V_th": (0.9, 1.1), "V_reset": (-0.2, 0.1), "E_L": (-0.1, 0.2)}
    between = jnp.asarray(np.stack([rng.uniform(*ends, NEURONS) for ends in levels.values()]))

    def loss(when, weights, recurrent, delay, recurrent_delay, state, out, out_delay, between):
        options_of_layer = {"V_m": state[0], "I_syn": state[1], **options}
        options_of_layer |= dict(zip(levels, between, strict=True))
        spikes = run(when, who, weights, recurrent, delay, recurrent_delay, **options_of_layer)
        readout = {**TIMES, "dt": 1.0, "steps": STEPS, "backend": options.get("backend")}
        readout["E_L"] = between[2, :READOUTS]
        V = eventprop.leaky_integrator(*spikes[:2], out, delay=out_delay, **readout)
        times = jnp.where(jnp.isfinite(spikes.times), spikes.times, 0)
        weighted = times * by_time.astype(times.dtype), V * by_potential.astype(V.dtype)
        return weighted[0].sum() + weighted[1].sum(), spikes

    return loss, (when, *synapses, state, out, out_delay, between)


@pytest.mark.parametrize("of_weights", [False, True])
@pytest.mark.parametrize(("taus", "t_ref"), list(zip(TAUS, REFRACTORY, strict=True)))
def test_derivatives_are_differences_of_losses(taus, t_ref, of_weights):
    seed = 2
    with jax.enable_x64(True):
        loss, given = losses(seed, of_weights, tau_m=taus[0], tau_syn=taus[1], t_ref=t_ref)
        places = tuple(range(len(given)))
        value = jax.jit(loss)
        spikes = value(*given)[1]
        assert int(spikes.num_spikes) > 3
        gradients = jax.jit(jax.grad(loss, argnums=places, has_aux=True))(*given)[0]
        rng = np.random.default_rng(seed)
        for k, (x, gradient) in enumerate(zip(given, gradients, strict=True)):
            for _ in range(3):
                direction = jnp.asarray(rng.normal(size=x.shape))
                ends = []
                for step in (1e-6, -1e-6):
                    moved = (*given[:k], x + step * direction, *given[k + 1 :])
                    end, near = value(*moved)
                    np.testing.assert_array_equal(near.ids, spikes.ids)
                    ends.append(end)
                difference, found = (ends[0] - ends[1]) / 2e-6, (gradient * direction).sum()
                np.testing.assert_allclose(found, difference, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("of_weights", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-3)])
def test_the_native_run_is_the_reference(dtype, tolerance, of_weights):
    with jax.enable_x64(True):
        found = []
        for backend in BACKENDS:
            loss, given = losses(1, of_weights, backend=backend, t_ref=0.3 if of_weights else 2.5)
            given = jax.tree.map(lambda x: x.astype(dtype), given)
            whole = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(len(given))), has_aux=True))
            found.append(whole(*given))
        (value, spikes), gradients = found[0]
        (expected, same), wanted = found[1]
        np.testing.assert_allclose(value, expected, rtol=tolerance)
        np.testing.assert_array_equal(spikes.ids, same.ids)
        np.testing.assert_allclose(spikes.times, same.times, rtol=tolerance)
        for gradient, expected in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(gradient, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("of_weights", "dtype", "dt"), [(False, np.float32, 1.0), (True, np.float64, 0.7)])
def test_a_release_comes_before_an_arrival_at_the_same_time(of_weights, dtype, dt):
    """A neuron that sends spikes to itself is released first, forwards and backwards."""
    with jax.enable_x64(True):
        given = [np.asarray(x, dtype if x.dtype == float else x.dtype) for x in layer(1, of_weights)]
        wait = 3 * dt
        given[-1] = np.full_like(given[-1], wait)

        def loss(weights, between, E_L, backend):
            arrays = given[0], given[1], weights, between, *given[4:]
            levels = {"E_L": E_L, "V_m": 0.0, "t_ref": wait, "dt": dt}
            times = run(*arrays, **levels, backend=backend).times
            return jnp.where(jnp.isfinite(times), times, 0).sum()

        at = np.abs(given[2]), np.abs(given[3]), dtype(1.3)
        gradients = jax.jit(jax.grad(loss, (0, 1, 2)), static_argnums=3)
        found, expected = (gradients(*at, backend) for backend in BACKENDS)
        for gradient, wanted in zip(found, expected, strict=True):
            assert np.abs(wanted).max() > 1
            np.testing.assert_allclose(gradient, wanted, rtol=2e-3, atol=2e-3)


def test_many_neurons_that_spike_in_one_step_are_those_with_delays_of_weights():
    """85 neurons are more than one search has room for; some spike twice; many rows arrive at one instant."""
    rng, neurons, dt = np.random.default_rng(0), 64 + 16 + 4 + 1, 4.0  # as many columns as are taken at once
    with jax.enable_x64(True):
        when, who = jnp.repeat(jnp.linspace(1, 3, 9), 4), jnp.arange(36) % 12
        rows = rng.normal(0.75, 0.5, (12, neurons)), rng.normal(0, 0.05, (neurons, neurons))
        weights, recurrent = map(jnp.asarray, rows)
        delay, between = jnp.zeros(12), jnp.asarray(rng.uniform(dt, 6, neurons))
        by_time = jnp.asarray(rng.normal(size=400))

        def loss(weights, recurrent, delay, between, of_weights):
            options = {"dt": dt, "steps": 3, "V_reset": -1.0, "capacity": 400}
            if of_weights:
                delay = jnp.broadcast_to(delay[:, None], weights.shape)
                between = jnp.broadcast_to(between[:, None], recurrent.shape)
            spikes = run(when, who, weights, recurrent, delay, between, **options)
            return (jnp.where(jnp.isfinite(spikes.times), spikes.times, 0) * by_time).sum(), spikes

        given = weights, recurrent, delay, between
        results = [jax.grad(loss, argnums=range(4), has_aux=True)(*given, each) for each in (False, True)]
        (gradients, spikes), (wanted, expected) = results
        count = int(expected.num_spikes)
        np.testing.assert_array_equal(spikes.ids, expected.ids)
        np.testing.assert_allclose(spikes.times[:count], expected.times[:count], rtol=1e-11)
        of_steps = [np.bincount(spikes.ids[:count][spikes.times[:count] // dt == k]) for k in range(2)]
        assert (of_steps[0] == 1).sum() > 64
        assert (of_steps[1] > 1).any()
        for gradient, expected in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-8)
        alone = jax.grad(loss, has_aux=True)(*given, False)[0]
        np.testing.assert_allclose(alone, gradients[0], rtol=1e-12, atol=1e-12)


def test_a_batch_is_one_call_and_has_the_derivatives_of_its_samples():
    with jax.enable_x64(True):
        loss, (when, *given) = losses(2)
        batch = when[None] + jnp.arange(3.0)[:, None]

        def mean(*given):
            return jax.vmap(lambda when: loss(when, *given)[0])(batch).mean()

        places = tuple(range(len(given)))
        total = jax.jit(jax.grad(mean, argnums=places))
        text = str(total.trace(*given).jaxpr)
        assert (text.count("eventprop_forward["), text.count("eventprop_backward[")) == (2, 2)
        one = jax.grad(lambda when, *given: loss(when, *given)[0], argnums=tuple(p + 1 for p in places))
        each = jax.vmap(one, in_axes=(0, *(None for _ in given)))(batch, *given)
        alone = [one(when, *given) for when in batch]
        for k, gradient in enumerate(total(*given)):
            np.testing.assert_allclose(gradient, each[k].mean(0), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(each[k], jnp.stack([x[k] for x in alone]), rtol=1e-12, atol=1e-12)
        members = jax.tree.map(lambda x: jnp.stack([x, 0.9 * x]), tuple(given))
        many = jax.vmap(lambda *given: jax.grad(mean, argnums=places)(*given))(*members)
        for k, gradient in enumerate(total(*given)):
            np.testing.assert_allclose(many[k][0], gradient, rtol=1e-12, atol=1e-12)


def test_a_csr_is_the_dense_matrix_of_its_entries():
    with jax.enable_x64(True):
        when, who, weights, recurrent, delay, recurrent_delay = layer(2, of_weights=True)
        # One entry twice, with half of the weight each.
        A, B = CSR.from_dense(weights), CSR.from_dense(recurrent)
        columns = jnp.insert(A.indices, 3, A.indices[3])
        halves = jnp.insert(A.data, 3, A.data[3] / 2).at[4].divide(2)
        twice = CSR(halves, columns, A.indptr.at[1:].add(1), shape=A.shape)
        delays = jnp.insert(delay.reshape(-1), 3, delay.reshape(-1)[3])
        expected = run(when, who, weights, recurrent, delay, recurrent_delay)
        found = run(when, who, twice, B, delays, recurrent_delay.reshape(-1))
        assert int(expected.num_spikes) > 3
        np.testing.assert_allclose(found.times, expected.times, rtol=1e-12)
        of_rows = jnp.full(NEURONS, 2.0)
        of_entries = jnp.repeat(of_rows, NEURONS)

        def sparse(x, delay):
            return run(when, who, A, B.with_data(x), 1.0, delay).times[4]

        def dense(x, delay):
            return run(when, who, weights, x, 1.0, delay).times[4]

        of_data, of_delays = jax.grad(sparse, argnums=(0, 1))(B.data, of_entries)
        of_dense, of_each = jax.grad(dense, argnums=(0, 1))(recurrent, of_rows)
        np.testing.assert_allclose(of_data, of_dense.reshape(-1), rtol=1e-10, atol=1e-12)
        of_delays = of_delays.reshape(NEURONS, NEURONS).sum(1)
        np.testing.assert_allclose(of_delays, of_each, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("of_weights", [False, True])
def test_times_do_not_depend_on_steps_and_no_crossing_between_their_ends_is_missed(of_weights):
    with jax.enable_x64(True):
        shape = (2, 1) if of_weights else (2,)
        # V rises above the threshold for 0.3 ms, and inhibition takes it below again.
        when, who, weights = jnp.array([0.3, 0.9]), jnp.array([0, 1]), jnp.array([[40.0], [-80.0]])
        found = [
            run(when, who, weights, None, jnp.full(shape, 0.1), None, dt=dt, steps=int(8 / dt)).times
            for dt in (8.0, 2.0, 0.25)
        ]
        assert int(np.isfinite(found[0]).sum()) == 1
        for times in found[1:]:
            np.testing.assert_allclose(times, found[0], rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dt", [0.5, 0.7])
def test_an_arrival_at_the_beginning_acts(dt, backend):
    times, ids, weights = jnp.zeros(1), jnp.zeros(1, jnp.int32), jnp.ones((1, 1))
    options = {**TIMES, "dt": dt, "steps": 2, "backend": backend}
    V = eventprop.leaky_integrator(times, ids, weights, delay=0.0, **options)[:, 0]
    t = dt * np.arange(1, 3)
    np.testing.assert_allclose(V, (np.exp(-t / 20) - np.exp(-t / 5)) / 3, rtol=1e-5)
    run(times, ids, weights, weights, 0.0, jnp.full(1, dt), **options, capacity=2)  # not shorter than dt
