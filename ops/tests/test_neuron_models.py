"""Neurons whose equations no formula solves, against SciPy's solver; and their derivatives."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads
from neuron_models import MODELS, each_model
from scipy.integrate import solve_ivp

from event_ops.surrogate import atan

TIGHT = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-11}
SILENT = {"V_th": 1e9}


def run(model, backend, steps, **changes):
    """What has a slope, after so many steps, and the steps with a spike."""
    options = model.constants | changes | {"backend": backend}

    def step(state, _):
        *state, spikes = model.step(*state, **options)
        return tuple(state), spikes

    with jax.enable_x64(True):
        start = tuple(map(jnp.asarray, model.start.values()))
        state, spikes = jax.jit(lambda: jax.lax.scan(step, start, length=steps))()
    moved = [x for name, x in zip(model.start, state, strict=True) if name != "refractory"]
    return np.array(moved), np.flatnonzero(spikes)


@each_model()
def test_the_error_falls_with_dt_as_the_order_says(name, backend):
    model = MODELS[name]
    slope = partial(model.slope, **model.constants)
    exact = solve_ivp(slope, (0, 8), model.moving(), **TIGHT).y[:, -1]
    ends = [run(model, backend, int(8 / dt), dt=dt, **SILENT)[0] for dt in (0.4, 0.2, 0.1)]
    error = np.log2([np.abs(end - exact).max() for end in ends])
    np.testing.assert_allclose(error[:-1] - error[1:], model.order, atol=0.15)


def spike_steps(model, steps):
    """The steps in which the exact solution passes the threshold, if V is reset at the end of that step."""
    dt, y, t, spikes = model.constants["dt"], model.moving(), 0.0, []
    slope = partial(model.slope, **model.constants)

    def above(t, y):
        return y[0] - model.constants["V_th"]

    def held(t, y):
        return [0.0, *slope(t, y)[1:]]

    above.terminal = True
    while True:
        free = solve_ivp(slope, (t, steps * dt), y, events=above, **TIGHT)
        if free.status == 0:
            return spikes
        spikes.append(int(free.t[-1] / dt))
        after = [model.constants["V_reset"], *free.y[1:, -1]]
        t = (spikes[-1] + 1) * dt + model.constants["t_ref"]
        y = solve_ivp(held, (free.t[-1], t), after, **TIGHT).y[:, -1]


@each_model("lif_cond_exp")
def test_spikes_fall_on_the_steps_of_the_exact_solution(name, backend):
    wanted = spike_steps(MODELS[name], 3000)
    assert len(wanted) > 5
    np.testing.assert_array_equal(run(MODELS[name], backend, 3000)[1], wanted)


@each_model()
def test_derivatives_in_parameters(name, backend):
    model = MODELS[name]

    def moved(constants):
        return model.step(*model.start.values(), **constants, backend=backend)[:-1]

    with jax.enable_x64(True):
        model = model._replace(start={key: jnp.asarray(x) for key, x in model.start.items()})
        constants = {key: jnp.asarray(x) for key, x in model.constants.items()}
        check_grads(moved, (constants,), order=1, modes=("fwd", "rev"), eps=1e-5, atol=1e-3, rtol=1e-3)


@each_model()
def test_derivatives_of_spikes(name, backend):
    """They are those of V - V_th, times the surrogate."""
    model, surrogate = MODELS[name], atan(0.1)

    def step(V_m, **changes):
        start = {key: jnp.asarray(x) for key, x in model.start.items()} | {"V_m": V_m}
        return model.step(*start.values(), **(model.constants | changes), backend=backend)

    with jax.enable_x64(True):
        V = jnp.asarray(model.constants["V_th"] + 1.0)
        free, slope = jax.value_and_grad(lambda V: step(V, **SILENT)[0])(V)
        found = jax.grad(lambda V: step(V, surrogate=surrogate)[-1])(V)
        wanted = surrogate(free - model.constants["V_th"]) * slope
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
