"""Neurons under training: surrogate gradients by their formula, and one step against many short ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

from event_ops import adex_step, alif_step, lif_expsyn_step, lif_step, spike_detect_reset
from event_ops.discover import operators
from event_ops.surrogate import atan, fast_sigmoid, sigmoid, triangular
from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import assert_same
from ffi_bridge.errors import StaticArgumentError

FORMULAS = {
    atan(): lambda x: 1 / (1 + (np.pi * x) ** 2),
    atan(0.5): lambda x: 0.25 / (1 + (np.pi * x / 4) ** 2),
    fast_sigmoid(): lambda x: 1 / (1 + 10 * abs(x)) ** 2,
    fast_sigmoid(beta=0.3): lambda x: 1 / (1 + 0.3 * abs(x)) ** 2,
    sigmoid(): lambda x: 1 / np.cosh(2 * x) ** 2,
    sigmoid(alpha=0.5): lambda x: 0.125 / np.cosh(x / 4) ** 2,
    triangular(): lambda x: 0.3 * np.maximum(0, 1 - abs(x)),
    triangular(gamma=0.6, width=5.0): lambda x: 0.12 * np.maximum(0, 1 - abs(x) / 5),
}

NEURON = {"tau_m": 10.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 2.0, "dt": 1.0}


def surrogates():
    return pytest.mark.parametrize("surrogate", FORMULAS, ids=repr)


@surrogates()
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_surrogate_is_its_formula(surrogate, dtype):
    x = np.linspace(-9, 9, 61).astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        slope = surrogate(jnp.asarray(x))
    assert slope.dtype == dtype
    np.testing.assert_allclose(slope, FORMULAS[surrogate](x), rtol=1e-5)


def test_surrogates_are_equal_by_value_and_refuse_what_has_no_meaning():
    assert len({atan(), atan(2.0), atan(3.0), triangular()}) == 3
    for make in (
        lambda: atan(0.0),
        lambda: fast_sigmoid(-1.0),
        lambda: sigmoid(0.0),
        lambda: triangular(width=0.0),
    ):
        with pytest.raises(ValueError, match="expected only values > 0"):
            make()


def test_a_sigmoid_far_from_the_threshold_is_0_and_not_nan():
    slopes = jax.vmap(jax.grad(lambda x: sigmoid()(x)))(jnp.array([-1e30, -200.0, 200.0, 1e30]))
    np.testing.assert_array_equal(slopes, np.zeros(4))
    np.testing.assert_array_equal(sigmoid()(jnp.array([-1e30, -200.0, 200.0, 1e30])), np.zeros(4))


@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_counted_spikes_are_those_of_single_substeps(backend):
    # Without refractory time and with a strong current, a step of 1 ms has several spikes.
    neuron = {
        "tau_syn_ex": 0.5, "tau_syn_in": 2.0, "tau_w": 144.0, "a": 4.0, "b": 80.5, "E_L": -70.6, "g_L": 30.0,
        "C_m": 281.0, "E_ex": 0.0, "E_in": -85.0, "Delta_T": 2.0, "V_th": -50.4, "V_peak": 0.0,
        "V_reset": -60.0, "t_ref": 0.0, "I_e": jnp.linspace(0, 1e6, 70), "backend": backend,
    }  # fmt: skip
    start = jnp.full(70, -70.6), *(jnp.zeros(70) for _ in range(4))
    *whole, counted = adex_step(*start, **neuron, dt=1.0, substeps=20, count=True)
    states, each = start, []
    for _ in range(20):
        *states, spikes = adex_step(*states, **neuron, dt=0.05, substeps=1)
        each.append(spikes)
    np.testing.assert_array_equal(counted, np.sum(each, axis=0))
    assert counted.dtype == jnp.int32 and counted.max() > 5 and counted.min() == 0
    flags = adex_step(*start, **neuron, dt=1.0, substeps=20)[-1]
    np.testing.assert_array_equal(flags, counted > 0)
    np.testing.assert_array_equal(adex_step(*start, **neuron, dt=1.0, substeps=20)[0], whole[0])


def test_a_surrogate_with_a_traced_parameter_is_refused():
    with pytest.raises(StaticArgumentError, match="surrogate"):
        spike_detect_reset(jnp.ones(2), V_th=0.5, V_reset=0.0, surrogate=atan(jnp.ones(())))


def with_surrogate():
    """(operator, backend, case) for the cases that have a surrogate."""
    return [
        pytest.param(operator, backend, case, id=f"{operator.name}-{backend}")
        for operator in operators()
        for case in operator.cases
        if case.name == "surrogate"
        for backend in operator.kernel.available_backends("cpu")
    ]


def test_every_neuron_has_a_case_with_a_surrogate():
    names = {operator.name for operator in operators() if "neuron" in operator.kernel.tags}
    assert {p.values[0].name for p in with_surrogate()} == names


@pytest.mark.slow_cases(
    "hh_cond_exp_step", "adex_step", "lif_cond_alpha_step", "lif_cond_exp_step", "numba_cpu"
)
@pytest.mark.parametrize(("operator", "backend", "case"), with_surrogate())
def test_a_surrogate_changes_the_spikes_dtype_and_nothing_else(operator, backend, case):
    trial = Trial(operator, backend, case, "float32", "int32")
    *state, spikes = trial.f(*trial.args)
    trial.kwargs["surrogate"] = None
    *expected, flags = trial.f(*trial.args)
    assert flags.dtype == bool and spikes.dtype == np.float32 and flags.any() and not flags.all()
    np.testing.assert_array_equal(spikes, flags)
    # XLA contracts other products and sums where it fuses other outputs.
    assert_same(state, expected, 2e-7 if backend == "reference" else 0.0)


def both_modes(f, *xs):
    """The diagonal of df/dx for each x, elementwise functions, by jvp and by vjp, which must agree."""
    y, pull = jax.vjp(f, *xs)
    backward = pull(jnp.ones_like(y))
    for i, x in enumerate(xs):
        tangents = [jnp.ones_like(x) if j == i else jnp.zeros_like(z) for j, z in enumerate(xs)]
        np.testing.assert_allclose(jax.jvp(f, xs, tuple(tangents))[1], backward[i], rtol=1e-12)
    return backward


V_M = [-61.0, -50.5, -47.0, -49.0]
HELD = [0.0, 0.0, 0.0, 1.0]
FREE = np.array([1.0, 1.0, 1.0, 0.0])


@pytest.mark.slow_cases("numba_cpu")
@surrogates()
@backends("lif_step")
def test_derivative_of_spikes_in_lif_step(backend, surrogate):
    with jax.enable_x64(True):
        V, held, current, V_th = map(jnp.asarray, (V_M, HELD, [3.0, 14.0, 30.0, 30.0], [-50.0] * 4))

        def step(V, current, V_th):
            given = NEURON | {"V_th": V_th, "surrogate": surrogate, "backend": backend}
            return lif_step(V, held, current, **given)

        decay = np.exp(-0.1)
        V_inf = -65 + np.array(current)
        slope = FREE * FORMULAS[surrogate](V_inf + (np.array(V) - V_inf) * decay + 50)
        dV, dI, dV_th = both_modes(lambda *xs: step(*xs)[2], V, current, V_th)
        np.testing.assert_allclose(dV, slope * decay, rtol=1e-9)
        np.testing.assert_allclose(dI, slope * (1 - decay), rtol=1e-9)
        np.testing.assert_allclose(dV_th, -slope, rtol=1e-9)
        # The reset is detached: nothing comes back through a neuron that spiked.
        assert step(V, current, V_th)[2].tolist() == [0, 0, 1, 0]
        reset_dV, _, reset_dV_th = both_modes(lambda *xs: step(*xs)[0], V, current, V_th)
        np.testing.assert_allclose(reset_dV, [decay, decay, 0, 1], rtol=1e-12)
        np.testing.assert_array_equal(reset_dV_th, np.zeros(4))


CURRENT = {**NEURON, "tau_syn": 2.0, "R_m": 0.5, "I_e": 3.0}


@backends("lif_expsyn_step")
@pytest.mark.parametrize("tau_syn", [0.5, 10.0, 10.0 * (1 + 1e-9), 40.0])
def test_one_exact_step_is_what_many_short_ones_come_to(backend, tau_syn):
    with jax.enable_x64(True):
        given = CURRENT | {"tau_syn": tau_syn, "backend": backend}
        V, I_syn, parts = -60.0, 8.0, 100_000
        found = lif_expsyn_step(jnp.array([V]), jnp.zeros(1), jnp.array([I_syn]), **given)
        h = given["dt"] / parts
        for _ in range(parts):
            slope = (-(V - given["E_L"]) + given["R_m"] * (I_syn + given["I_e"])) / given["tau_m"]
            V, I_syn = V + h * slope, I_syn - h * I_syn / tau_syn
        assert found[0][0] == pytest.approx(V, rel=1e-6)
        assert found[2][0] == pytest.approx(I_syn, rel=1e-4)


@pytest.mark.slow_cases("numba_cpu")
@surrogates()
@backends("lif_expsyn_step")
def test_derivative_of_spikes_in_lif_expsyn_step(backend, surrogate):
    with jax.enable_x64(True):
        V, held, I_syn, V_th = map(jnp.asarray, (V_M, HELD, [3.0, 14.0, 30.0, 30.0], [-50.0] * 4))

        def step(V, I_syn, V_th):
            given = CURRENT | {"V_th": V_th, "surrogate": surrogate, "backend": backend}
            return lif_expsyn_step(V, held, I_syn, **given)

        decay, gain = np.exp(-0.1), 0.5 * 2 / (2 - 10) * (np.exp(-0.5) - np.exp(-0.1))
        free = -63.5 + (np.array(V) + 63.5) * decay + gain * np.array(I_syn)
        slope = FREE * FORMULAS[surrogate](free + 50)
        dV, dI, dV_th = both_modes(lambda *xs: step(*xs)[3], V, I_syn, V_th)
        np.testing.assert_allclose(dV, slope * decay, rtol=1e-9)
        np.testing.assert_allclose(dI, slope * gain, rtol=1e-9)
        np.testing.assert_allclose(dV_th, -slope, rtol=1e-9)
        # The current goes on in every neuron; the reset is detached.
        np.testing.assert_allclose(jax.vjp(lambda x: step(V, x, V_th)[2], I_syn)[1](jnp.ones(4))[0],
                                   np.exp(-0.5), rtol=1e-12)  # fmt: skip


@pytest.mark.slow_cases("numba_cpu")
@backends("alif_step")
def test_derivative_of_spikes_in_alif_step(backend):
    surrogate = triangular(width=8.0)
    with jax.enable_x64(True):
        V, held, a, beta = map(jnp.asarray, (V_M, HELD, [0.0, 1.0, 2.0, 1.0], [1.5] * 4))

        def step(V, a, beta):
            given = NEURON | {"tau_a": 50.0, "beta": beta, "surrogate": surrogate, "backend": backend}
            return alif_step(V, held, a, jnp.asarray(15.0), **given)

        decay, decay_a = np.exp(-0.1), np.exp(-0.02)
        x = -50 + (np.array(V) + 50) * decay + 50 - 1.5 * np.array(a)
        slope = FREE * 0.3 / 8 * np.maximum(0, 1 - abs(x) / 8)
        dV, da, dbeta = both_modes(lambda *xs: step(*xs)[3], V, a, beta)
        np.testing.assert_allclose(dV, slope * decay, rtol=1e-9)
        np.testing.assert_allclose(da, -1.5 * slope, rtol=1e-9)
        np.testing.assert_allclose(dbeta, -slope * np.array(a), rtol=1e-9)
        # a takes the spike, and its derivative.
        _, kept, _ = both_modes(lambda *xs: step(*xs)[2], V, a, beta)
        np.testing.assert_allclose(kept, decay_a - 1.5 * slope, rtol=1e-9)


@backends("alif_step")
def test_adaptation_lengthens_the_intervals_between_spikes(backend):
    options = NEURON | {"tau_a": 200.0, "beta": 2.0, "t_ref": 0.0, "backend": backend}

    def step(state, _):
        *state, spikes = alif_step(*state, jnp.full(1, 40.0), **options)
        return tuple(state), spikes

    start = jnp.full(1, -65.0), jnp.zeros(1), jnp.zeros(1)
    (_, _, a), spikes = jax.lax.scan(step, start, None, length=200)
    times = np.flatnonzero(spikes)
    intervals = np.diff(times)
    assert len(intervals) > 5 and (np.diff(intervals) >= 0).all() and intervals[-1] > intervals[0]
    np.testing.assert_allclose(a, np.exp(-(199.0 - times) / 200).sum(), rtol=1e-5)


@pytest.mark.slow_cases("numba_cpu")
@surrogates()
@backends("spike_detect_reset")
def test_derivative_of_spikes_in_spike_detect_reset(backend, surrogate):
    with jax.enable_x64(True):
        V, V_th = jnp.array([-61.0, -49.5, -47.0]), jnp.full(3, -50.0)

        def detect(V, V_th):
            given = {"V_th": V_th, "V_reset": -60.0, "surrogate": surrogate, "backend": backend}
            return spike_detect_reset(V, **given)

        slope = FORMULAS[surrogate](np.array([-11.0, 0.5, 3.0]))
        dV, dV_th = both_modes(lambda *xs: detect(*xs)[1], V, V_th)
        np.testing.assert_allclose(dV, slope, rtol=1e-12)
        np.testing.assert_allclose(dV_th, -slope, rtol=1e-12)
        np.testing.assert_array_equal(both_modes(lambda *xs: detect(*xs)[0], V, V_th)[0], [1, 0, 0])
