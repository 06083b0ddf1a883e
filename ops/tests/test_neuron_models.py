"""Neurons whose equations no formula solves, against SciPy's solver; and their derivatives."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from neuron_models import MODELS, each_model
from scipy.integrate import solve_ivp

from event_ops.surrogate import atan

TIGHT = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-11}


def run(model, backend, steps, **changes):
    """Return the part of the state with a slope after so many steps, and the steps with a spike."""
    options = model.constants | changes | {"backend": backend}

    def step(state, _):
        *state, spikes = model.step(*state, **options)
        return tuple(state), spikes

    with jax.enable_x64(True):
        start = tuple(map(jnp.asarray, model.start.values()))
        state, spikes = jax.jit(lambda: jax.lax.scan(step, start, length=steps))()
    moved = [x for name, x in zip(model.start, state, strict=True) if name != "refractory"]
    return np.array(moved), np.flatnonzero(spikes)


@pytest.mark.slow_cases("numba_cpu", "hh_cond_exp")
@each_model()
def test_the_error_falls_with_dt_as_the_order_says(name, backend):
    model = MODELS[name]
    slope = partial(model.slope, **model.constants)
    exact = solve_ivp(slope, (0, 8), model.moving(), **TIGHT).y[:, -1]
    ends = [run(model, backend, int(8 / dt), dt=dt, **model.silent)[0] for dt in (0.4, 0.2, 0.1)]
    error = np.log2([np.abs(end - exact).max() for end in ends])
    np.testing.assert_allclose(error[:-1] - error[1:], model.order, atol=0.15)


def spike_steps(model, steps):
    """The steps in which the exact solution passes the threshold; V is then held to the end of that step."""
    constants = model.constants
    dt, y, t, spikes = constants["dt"], model.moving(), 0.0, []
    slope = partial(model.slope, **constants)

    def above(t, y):
        return y[0] - constants[model.threshold]

    def held(t, y):
        return [0.0, *slope(t, y)[1:]]

    above.terminal = True
    while True:
        free = solve_ivp(slope, (t, steps * dt), y, events=above, **TIGHT)
        if free.status == 0:
            return spikes
        spikes.append(int(free.t[-1] / dt))
        after = np.array([constants["V_reset"], *free.y[1:, -1]])
        after[-1] += constants.get("b", 0.0)  # of the adaptation
        t = (spikes[-1] + 1) * dt + constants["t_ref"]
        y = solve_ivp(held, (free.t[-1], t), after, **TIGHT).y[:, -1]


@pytest.mark.slow
@each_model("lif_cond_exp")
def test_spikes_fall_on_the_steps_of_the_exact_solution(name, backend):
    wanted = spike_steps(MODELS[name], 3000)
    assert len(wanted) > 5
    np.testing.assert_array_equal(run(MODELS[name], backend, 3000)[1], wanted)


@pytest.mark.slow
@each_model("adex")
def test_adaptive_spikes_come_to_those_of_the_exact_solution(name, backend):
    model = MODELS[name]._replace(constants=MODELS[name].constants | {"I_e": 1000.0})
    wanted = spike_steps(model, 2000)
    assert len(wanted) > 5
    coarse, fine = (run(model, backend, 2000, substeps=n)[1] - wanted for n in (10, 100))
    assert coarse[0] == 0 and coarse.min() >= 0 and coarse.max() <= 3
    assert fine[0] == 0 and fine.min() >= 0 and fine.max() <= 1


@pytest.mark.slow_cases("numba_cpu", "hh_cond_exp")
@each_model()
def test_derivatives_in_parameters(name, backend):
    model = MODELS[name]

    def moved(constants):
        given = model.constants | constants
        return model.step(*model.start.values(), **given, backend=backend)[:-1]

    with jax.enable_x64(True):
        model = model._replace(start={key: jnp.asarray(x) for key, x in model.start.items()})
        constants = {key: jnp.asarray(x) for key, x in model.constants.items() if isinstance(x, float)}
        check_grads(moved, (constants,), order=1, modes=("fwd", "rev"), eps=1e-5, atol=1e-3, rtol=1e-3)


def derivatives_of_spikes(model, backend, above, **changes):
    """Return the derivative of spikes in V_m, and what it has to be, where spikes have V_m - above."""
    surrogate = atan(0.1)

    def step(V_m, **options):
        start = {key: jnp.asarray(x) for key, x in (model.start | changes).items()} | {"V_m": V_m}
        return model.step(*start.values(), **(model.constants | options), backend=backend)

    with jax.enable_x64(True):
        V = jnp.asarray((model.start | changes)["V_m"])
        after, slope = jax.value_and_grad(lambda V: step(V)[0])(V)
        found = jax.grad(lambda V: step(V, surrogate=surrogate)[-1])(V)
        return float(found), float(surrogate(after - above) * slope)


@pytest.mark.slow_cases("numba_cpu")
@each_model(*(name for name in MODELS if name != "hh_cond_exp"))
def test_derivatives_of_spikes(name, backend):
    """They are those of V - V_th, times the surrogate."""
    model = MODELS[name]
    found, wanted = derivatives_of_spikes(model, backend, model.constants[model.threshold])
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.slow
@each_model("hh_cond_exp")
def test_derivatives_of_spikes_at_a_maximum(name, backend):
    """They are those of V - V_T - 30, times the surrogate, where V falls and a spike can be seen."""
    above, falls = MODELS[name].constants["V_T"] + 30, {"V_m": -20.0, "Inact_h": 0.0, "Act_n": 1.0}
    found, wanted = derivatives_of_spikes(MODELS[name], backend, above, **falls)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert derivatives_of_spikes(MODELS[name], backend, above)[0] == 0  # V rises
    assert derivatives_of_spikes(MODELS[name], backend, above, **falls, refractory=1.0)[0] == 0
