"""Models without an exact gradient in `eventprop.neuron`: refused by name, or NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eventprop_layers import BACKENDS, INPUTS, NEURONS, TIMES
from test_eventprop_models import LIF, OPTIONS, lif

from event_ops import eventprop, neuron_step


def pairs(**changes):
    """Return the arguments of a call, some of them changed."""
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


def test_a_threshold_that_is_passed_while_states_are_held_is_nan():
    """The neuron would spike when it is released, at a time that no root is."""
    options = model_of(
        integrate=lambda V, I, a, *, dt: (V + dt * (2 - V), I, a * jnp.exp(-dt)),
        threshold=lambda V, I, a: V - 0.5 - a,
        reset=lambda V, I, a: (jnp.full_like(V, 0.9), I, a + 2),
        held=("V",),
    )
    options |= {"states": {"V": 0.0, "I": 0.0, "a": 0.1}, "backend": "reference"}
    for t_ref, is_right in ((0.1, True), (9.0, False)):
        spikes = eventprop.neuron(**pairs(**options | {"variables": {"t_ref": t_ref}, "steps": 10}))
        assert (int(spikes.num_spikes) > 0) == is_right
        assert np.isnan(spikes.times).all() != is_right


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
