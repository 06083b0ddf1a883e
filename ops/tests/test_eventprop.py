"""Spikes of `eventprop` are those of a simulation without a grid, and their derivatives are exact."""

import event_driven
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import CSR, eventprop

INPUTS, NEURONS, READOUTS, STEPS = 6, 4, 3, 40
TIMES = {"tau_m": 20.0, "tau_syn": 5.0}
TAUS = [(20.0, 5.0), (5.0, 5.0), (4.0, 9.0)]
BACKENDS = ["numba_cpu", "reference"]


def layer(seed, of_weights=False):
    """Return spikes, weights and delays of a small recurrent network: delays of rows, or of weights."""
    rng = np.random.default_rng(seed)
    when, who = rng.uniform(0, 30, 16), rng.integers(0, INPUTS, 16)
    weights = rng.normal(0.8, 1.2, (INPUTS, NEURONS)), rng.normal(-1, 0.7, (NEURONS, NEURONS))
    sizes = [x.shape if of_weights else x.shape[:1] for x in weights]
    delays = rng.uniform(0, 3, sizes[0]), rng.uniform(1, 4, sizes[1])
    floats = [jnp.asarray(x) for x in (when, *weights, *delays)]
    return floats[0], jnp.asarray(who, jnp.int32), *floats[1:]


def run(when, who, weights, recurrent, delay, recurrent_delay, **options):
    options = {**TIMES, "dt": 1.0, "steps": STEPS, "capacity": 80} | options
    delays = {"delay": delay, "recurrent_delay": recurrent_delay}
    return eventprop.lif(when, who, weights, recurrent, **delays, **options)


@pytest.mark.parametrize("of_weights", [False, True])
@pytest.mark.parametrize(("tau_m", "tau_syn"), TAUS)
@pytest.mark.parametrize("seed", range(3))
def test_spikes_are_those_of_a_simulation_without_a_grid(seed, tau_m, tau_syn, of_weights):
    with jax.enable_x64(True):
        given = layer(seed, of_weights)
        constants = {"tau_m": tau_m, "tau_syn": tau_syn, "V_reset": -0.2, "E_L": 0.3}
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


def losses(seed, of_weights=False, **options):
    """Return a loss of times and of potentials of readouts, and what it is differentiated in."""
    when, who, *synapses = layer(seed, of_weights)
    rng = np.random.default_rng(seed)
    out = jnp.asarray(rng.normal(size=(NEURONS, READOUTS)))
    out_delay = jnp.asarray(rng.uniform(0, 3, out.shape if of_weights else NEURONS))
    state = jnp.asarray(rng.uniform(0, 0.8, (2, NEURONS)))
    by_time, by_potential = rng.normal(size=80), rng.normal(size=(STEPS, READOUTS))

    def loss(when, weights, recurrent, delay, recurrent_delay, state, out, out_delay):
        options_of_layer = {"V_m": state[0], "I_syn": state[1], **options}
        spikes = run(when, who, weights, recurrent, delay, recurrent_delay, **options_of_layer)
        readout = {**TIMES, "dt": 1.0, "steps": STEPS, "backend": options.get("backend")}
        V = eventprop.leaky_integrator(*spikes[:2], out, delay=out_delay, **readout)
        times = jnp.where(jnp.isfinite(spikes.times), spikes.times, 0)
        weighted = times * by_time.astype(times.dtype), V * by_potential.astype(V.dtype)
        return weighted[0].sum() + weighted[1].sum(), spikes

    return loss, (when, *synapses, state, out, out_delay)


@pytest.mark.parametrize("of_weights", [False, True])
@pytest.mark.parametrize(("tau_m", "tau_syn"), TAUS)
def test_derivatives_are_differences_of_losses(tau_m, tau_syn, of_weights):
    seed = 2
    with jax.enable_x64(True):
        loss, given = losses(seed, of_weights, tau_m=tau_m, tau_syn=tau_syn)
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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("delay", [0.5, 3.0, [0.5], [[0.5, 3.0]]])
def test_a_spike_before_the_run_arrives_in_it_where_its_delay_is_long_enough(delay, backend):
    weights, options = jnp.full((1, 2), 12.0), {"delay": jnp.asarray(delay, jnp.float32), "backend": backend}

    def potentials(time, **options):
        readout = {**TIMES, "dt": 1.0, "steps": 6}
        return eventprop.leaky_integrator(time[None], jnp.array([0]), weights, **readout, **options)

    late = jnp.broadcast_to(jnp.asarray(delay, jnp.float32).reshape(-1), 2) > 1
    found = potentials(jnp.float32(-1), **options)
    np.testing.assert_array_equal(found[-1] > 0, late)
    slopes = jax.jacrev(lambda time: potentials(time, **options))(jnp.float32(-1))
    np.testing.assert_array_equal(slopes[-1] != 0, late)


def test_an_id_out_of_range_of_int32_is_padding():
    with jax.enable_x64(True):
        for ids in ([2**32, -(2**32)], np.array([2**32, 2**64 - 2**32], np.uint64)):
            spikes = eventprop.lif(
                jnp.zeros(2),
                jnp.asarray(ids),
                jnp.full((1, 2), 12.0),
                delay=1.0,
                **TIMES,
                dt=1.0,
                steps=9,
                capacity=9,
            )
            assert int(spikes.num_spikes) == 0


@pytest.mark.parametrize("of_weights", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-3)])
def test_the_native_run_is_the_reference(dtype, tolerance, of_weights):
    with jax.enable_x64(True):
        found = []
        for backend in BACKENDS:
            loss, given = losses(1, of_weights, backend=backend)
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
        of_data = jax.grad(lambda x: run(when, who, A, B.with_data(x), 1.0, 2.0).times[4])(B.data)
        of_dense = jax.grad(lambda x: run(when, who, weights, x, 1.0, 2.0).times[4])(recurrent)
        np.testing.assert_allclose(of_data, of_dense.reshape(-1), rtol=1e-10, atol=1e-12)


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


def test_an_id_out_of_range_and_a_time_that_is_infinite_are_padding():
    when, who, *synapses = (x.astype(jnp.float32) if x.dtype == float else x for x in layer(2))
    more = jnp.concatenate([jnp.array([1.0, 2.0, jnp.inf, jnp.nan]), when])
    ids = jnp.concatenate([jnp.array([-1, INPUTS, 0, 99], jnp.int32), who])
    expected, found = run(when, who, *synapses), run(more, ids, *synapses)
    np.testing.assert_array_equal(found.times, expected.times)
    first = found.first(NEURONS)
    for j in range(NEURONS):
        mine = np.asarray(found.times)[np.asarray(found.ids) == j]
        assert first[j] == min(mine, default=np.inf)


def nan_time(given):
    return {"when": given["when"].at[3].set(jnp.nan)}


def nan_weight(given):
    return {"weights": given["weights"].at[0, 0].set(jnp.nan)}


def short_delay(given):
    return {"recurrent_delay": given["recurrent_delay"].at[1].set(0.5)}


@pytest.mark.parametrize(
    ("change", "options", "count"),
    [
        (nan_time, {}, -1),
        (nan_weight, {}, -1),
        (short_delay, {}, -1),
        (lambda given: {}, {"V_m": jnp.full(NEURONS, 1.5, jnp.float32)}, -1),
        (lambda given: {}, {"capacity": 2}, 3),
    ],
)
def test_what_cannot_be_right_is_not_a_number(change, options, count):
    names = ["when", "who", "weights", "recurrent", "delay", "recurrent_delay"]
    arrays = (x if x.dtype == jnp.int32 else x.astype(jnp.float32) for x in layer(2))
    given = dict(zip(names, arrays, strict=True))
    given |= change(given)

    @jax.jit
    def last(weights, given, options):
        sizes = {"capacity": 2 if count == 3 else 80}
        spikes = run(**(given | {"weights": weights}), **options, **sizes)
        return spikes.times[1], spikes

    traced = {name: x for name, x in options.items() if name != "capacity"}
    gradient, spikes = jax.grad(last, has_aux=True)(given.pop("weights"), given, traced)
    assert int(spikes.num_spikes) == count
    assert np.isnan(spikes.times).all() and np.isnan(gradient).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"recurrent_delay": 0.5}, ValueError, "expected values >= dt = 1.0"),
        ({"recurrent_delay": None}, ValueError, "recurrent is given without recurrent_delay"),
        ({"recurrent": None}, ValueError, "recurrent_delay is given without recurrent"),
        ({"delay": -1.0}, ValueError, "delay is or contains -1.0"),
        ({"delay": np.ones(3, np.float32)}, ValueError, "one delay for all, or one for each row or weight"),
        (
            {"recurrent": np.ones((3, 3), np.float32), "recurrent_delay": 1.0},
            ValueError,
            r"expected \(4, 4\): neurons by neurons",
        ),
        ({"weights": np.ones((6, 4), np.int32)}, TypeError, "weights has dtype int32"),
        ({"tau_m": jnp.ones(())}, TypeError, "constants of neurons have no derivatives"),
        ({"tau_syn": 0.2}, ValueError, "dt is 1.0, and the shorter of tau_m and tau_syn 0.2"),
        ({"V_reset": 2.0}, ValueError, "expected finite numbers, and V_reset < V_th"),
        ({"V_m": np.full(4, 2, np.float32)}, ValueError, "expected values < V_th = 1.0"),
        ({"capacity": 0}, ValueError, "capacity is 0; expected an integer >= 1"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(change, error, message):
    names = ["when", "who", "weights", "recurrent", "delay", "recurrent_delay"]
    arrays = (x if x.dtype == jnp.int32 else x.astype(jnp.float32) for x in layer(2))
    with pytest.raises(error, match=message):
        run(**(dict(zip(names, arrays, strict=True)) | change))


def test_forward_mode_and_second_derivatives_are_refused_by_name():
    when, who, *synapses = (x if x.dtype == jnp.int32 else x.astype(jnp.float32) for x in layer(2))

    def first(when):
        return run(when, who, *synapses).times[0]

    with pytest.raises(NotImplementedError, match="first derivatives in reverse mode"):
        jax.jvp(first, (when,), (when,))
    with pytest.raises(NotImplementedError, match="first derivatives in reverse mode"):
        jax.grad(lambda when: jax.grad(first)(when).sum())(when)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dt", [0.5, 0.7])
def test_an_arrival_at_the_beginning_acts(dt, backend):
    times, ids, weights = jnp.zeros(1), jnp.zeros(1, jnp.int32), jnp.ones((1, 1))
    options = {**TIMES, "dt": dt, "steps": 2, "backend": backend}
    V = eventprop.leaky_integrator(times, ids, weights, delay=0.0, **options)[:, 0]
    t = dt * np.arange(1, 3)
    np.testing.assert_allclose(V, (np.exp(-t / 20) - np.exp(-t / 5)) / 3, rtol=1e-5)
    run(times, ids, weights, weights, 0.0, jnp.full(1, dt), **options, capacity=2)  # not shorter than dt


def test_one_weight_for_all_is_each_of_them_and_wide_columns_do_not_come_round():
    times, ids = jnp.array([1.0, 2.0]), jnp.array([0, 1])
    with jax.enable_x64(True):
        columns = jnp.array([0, 1, 2**32], jnp.int64)
        A = CSR(jnp.float64(9), columns, jnp.array([0, 2, 3]), shape=(2, 2), validate=False)
        each = jnp.array([[9.0, 9.0], [0.0, 0.0]])
        given = times.astype(jnp.float64), ids
        found, expected = (run(*given, weights, None, 1.0, None) for weights in (A, each))
        assert int(expected.num_spikes) > 0
        np.testing.assert_allclose(found.times, expected.times, rtol=1e-12)


def test_a_broken_structure_stays_inside_the_arrays():
    ends = jnp.array([-7, 3, 1, 90], jnp.int32)
    A = CSR(jnp.ones(4), jnp.array([0, -1, 5, 1], jnp.int32), ends, shape=(3, 2), validate=False)
    times, ids = jnp.array([1.0, 2.0, 3.0]), jnp.arange(3)
    spikes = run(times, ids, A, None, 1.0, None)
    assert int(spikes.num_spikes) == 0
