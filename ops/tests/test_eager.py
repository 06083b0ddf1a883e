"""Calls outside of jit: what numbers may be, that they are what they were, and what such calls take."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import event_ops
from event_ops.checks.inputs import as_input, in_dtype

NUMBERS = [0.1, 3, True, -0.0, np.float32(0.1), np.float64(0.1), np.int8(-3), np.uint32(4e9), np.array(0.1)]
NEURON = {"tau_m": 20.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 2.0, "dt": 0.1}
X = np.linspace(-66, -49, 1000, dtype=np.float32)
IDS = np.arange(100, dtype=np.int32)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("x", NUMBERS, ids=repr)
def test_a_number_is_what_jax_makes_of_it(x, wide):
    with jax.enable_x64(wide):
        ours, theirs = as_input(x), jnp.asarray(x)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
        for dtype in ("float32", float):
            assert in_dtype(x, dtype).dtype == jnp.asarray(x, dtype).dtype
            assert in_dtype(x, dtype).tobytes() == np.asarray(jnp.asarray(x, dtype)).tobytes()


@pytest.mark.parametrize("x", [2**40, -(2**31) - 1, np.int64(2**40), np.uint64(2**63)], ids=repr)
def test_an_integer_that_needs_64_bits_is_refused_as_before(x):
    with pytest.raises((OverflowError, ValueError), match=r"1099511627776|2147483649|9223372036854775808"):
        as_input(x)


@pytest.mark.parametrize("x", [None, 1j, np.array("a")], ids=repr)
def test_what_is_no_number_is_refused_as_before(x):
    with pytest.raises((TypeError, ValueError)):
        jnp.asarray(x, "float32")
    with pytest.raises((TypeError, ValueError)):
        event_ops.lif_step(X, X, 0.0, **NEURON | {"E_L": x})


def test_a_number_that_the_caller_changes_afterwards_does_not_change_results():
    E_L = np.array(-65.0, np.float32)
    before = event_ops.lif_step(X, 0 * X, 0.0, **NEURON)[0]
    after = event_ops.lif_step(X, 0 * X, 0.0, **NEURON | {"E_L": E_L})[0]
    E_L[...] = 0
    np.testing.assert_array_equal(after, before)


def test_numbers_that_overflow_do_so_silently():
    states = [np.zeros(3, np.float32)] * 4
    synapses = {"tau_syn_ex": 5.0, "tau_syn_in": 5.0, "E_ex": 0.0, "E_in": -80.0}
    neuron = {**NEURON, **synapses, "g_L": 1e30, "C_m": 200.0, "E_L": -1e30}
    neuron.pop("tau_m")
    assert event_ops.lif_cond_exp_step(*states, **neuron)[0].shape == (3,)


def test_derivatives_and_batches_are_taken_through_eager_calls():
    def potential(tau_m, E_L):
        return event_ops.lif_step(X, 0 * X, 0.0, **NEURON | {"tau_m": tau_m, "E_L": E_L})[0].sum()

    slopes = jax.grad(potential, (0, 1))(20.0, -65.0)
    assert slopes == jax.jit(jax.grad(potential, (0, 1)))(20.0, -65.0)
    each = jax.vmap(potential, (0, None))(jnp.array([10.0, 20.0]), -65.0)
    np.testing.assert_allclose(each, [potential(10.0, -65.0), potential(20.0, -65.0)], rtol=1e-5)


def test_checks_of_values_are_made_at_every_call():
    for _ in range(2):
        event_ops.lif_step(X, 0 * X, 0.0, **NEURON)
        with pytest.raises(ValueError, match=r"tau_m is or contains -20\.0"):
            event_ops.lif_step(X, 0 * X, 0.0, **NEURON | {"tau_m": -20.0})
        event_ops.scatter_add(X, IDS, 1.0, mode="error")
        with pytest.raises(IndexError, match="contains 1000, and 6"):
            event_ops.scatter_add(X, IDS + 1000 - 94, 1.0, mode="error")


def lif(V_m, *, I_syn, E_L, tau_m, dt):
    return E_L + I_syn + (V_m - E_L - I_syn) * jnp.exp(-dt / tau_m)


def above(V_m, *, V_th):
    return V_m - V_th


def reset(V_m, *, V_reset):
    return V_reset


MODEL = event_ops.neuron_step(lif, threshold=above, reset=reset, held=("V_m",))
# Each number that becomes an array by itself takes some hundred calls of functions.
CALLS = {
    "lif_step": (lambda x, ids: event_ops.lif_step(x, x, 40.0, **NEURON), 400),  # 1450 before
    "neuron_step": (lambda x, ids: MODEL(x, x, I_syn=40.0, **NEURON), 800),  # 1554
    "trace_decay": (lambda x, ids: event_ops.trace_decay(x, x, tau=20.0, dt=0.1), 160),  # 404
    "scatter_add": (lambda x, ids: event_ops.scatter_add(x, ids, 1.0), 160),  # 320
    "poisson_input": (lambda x, ids: event_ops.poisson_input(1.0, 3, 5, mean=0.5, initial=x), 270),  # 833
}


@pytest.mark.parametrize("name", CALLS)
def test_an_eager_call_is_little_more_than_one_program(name):
    call, most = CALLS[name]
    x, ids = jnp.asarray(X), jnp.asarray(IDS)
    for _ in range(3):
        call(x, ids)
    count = 0

    def watch(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(watch)  # counts, since times depend on what else the machine does
    try:
        call(x, ids)
    finally:
        sys.setprofile(None)
    assert count < most
