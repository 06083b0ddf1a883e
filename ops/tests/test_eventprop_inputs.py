"""Inputs of `eventprop` that are padding, come early, or do not fit: left out, NaN, or refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eventprop_layers import BACKENDS, INPUTS, NEURONS, TIMES, layer, run

from event_ops import CSR, eventprop


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


def infinite_weight(given):
    return {"weights": given["weights"].at[0, 0].set(jnp.inf)}


def short_delay(given):
    return {"recurrent_delay": given["recurrent_delay"].at[1].set(0.5)}


@pytest.mark.parametrize(
    ("change", "options", "count"),
    [
        (nan_time, {}, -1),
        (nan_weight, {}, -1),
        (infinite_weight, {}, -1),
        (lambda given: {}, {"I_syn": jnp.full(NEURONS, jnp.inf, jnp.float32)}, -1),
        (short_delay, {}, -1),
        (lambda given: {}, {"V_m": jnp.full(NEURONS, 1.5, jnp.float32)}, -1),
        (lambda given: {}, {"V_reset": jnp.float32(1.0)}, -1),
        (lambda given: {}, {"capacity": 2}, 3),
    ],
)
def test_what_cannot_be_right_is_not_a_number(change, options, count):
    names = ["when", "who", "weights", "recurrent", "delay", "recurrent_delay"]
    arrays = (x if x.dtype == jnp.int32 else x.astype(jnp.float32) for x in layer(2))
    given = dict(zip(names, arrays, strict=True))
    given |= change(given)

    @jax.jit
    def last(moving, given, options):
        sizes = {"capacity": 2 if count == 3 else 80}
        spikes = run(**given, **moving, **options, **sizes)
        readout = {**TIMES, "delay": 1.0, "dt": 1.0, "steps": 2}
        V = eventprop.leaky_integrator(*spikes[:2], jnp.ones((NEURONS, 1), jnp.float32), **readout)
        return V[-1, 0], spikes

    traced = {name: x for name, x in options.items() if name != "capacity"}
    moving = {name: given.pop(name) for name in ("weights", "delay")}
    (V, spikes), gradients = jax.value_and_grad(last, has_aux=True)(moving, given, traced)
    assert int(spikes.num_spikes) == count
    assert np.isnan(spikes.times).all() and np.isnan(V)
    assert all(np.isnan(gradient).all() for gradient in gradients.values())


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_layer_that_is_not_a_number_is_not_silent_for_the_next(backend):
    times, ids, weights = jnp.full(1, jnp.nan), jnp.zeros(1, jnp.int32), jnp.ones((1, 2))
    options = {**TIMES, "dt": 1.0, "steps": 2, "backend": backend}
    spikes = eventprop.lif(times, ids, weights, delay=0.0, **options, capacity=3)
    assert spikes.ids.tolist() == [0, 1, 0] and np.isnan(spikes.first(2)).all()
    V = eventprop.leaky_integrator(*spikes[:2], weights.T, delay=0.0, **options)
    assert np.isnan(V).all()


def test_an_empty_batch_has_derivatives_of_0():
    options = {**TIMES, "delay": 0.0, "dt": 1.0, "steps": 2}

    def total(weights):
        one = lambda times: eventprop.leaky_integrator(times, jnp.zeros(1, jnp.int32), weights, **options)  # noqa: E731
        return jax.vmap(one)(jnp.zeros((0, 1))).sum()

    assert not jax.grad(total)(jnp.ones((1, 2))).any()


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
        ({"tau_m": jnp.ones(())}, TypeError, "the times of neurons have no derivatives"),
        ({"V_th": np.ones(3, np.float32)}, ValueError, "a number, or one for each neuron"),
        ({"tau_m": 1e-60}, ValueError, r"tau_m is or contains 0\.0"),
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


def test_rows_that_float32_cannot_count_are_refused_by_name():
    rows = jax.ShapeDtypeStruct((2**24 + 1, 1), np.float32)
    call = lambda weights: run(jnp.ones(1), jnp.zeros(1, jnp.int32), weights, None, 0.0, None)  # noqa: E731
    with pytest.raises(ValueError, match="weights has 16777217 rows, a number that float32 does not have"):
        jax.eval_shape(call, rows)


def test_forward_mode_and_second_derivatives_are_refused_by_name():
    when, who, *synapses = (x if x.dtype == jnp.int32 else x.astype(jnp.float32) for x in layer(2))

    def first(when):
        return run(when, who, *synapses).times[0]

    with pytest.raises(NotImplementedError, match="first derivatives in reverse mode"):
        jax.jvp(first, (when,), (when,))
    with pytest.raises(NotImplementedError, match="first derivatives in reverse mode"):
        jax.grad(lambda when: jax.grad(first)(when).sum())(when)


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
