"""Errors of `neuron_step`: models that are none, and calls that do not fit a model."""

import jax
import numpy as np
import pytest
from test_neuron_step import IZHIKEVICH, LIF

from event_ops import neuron_step
from event_ops.catalog.izhikevich_step.cases import REGULAR_SPIKING
from event_ops.catalog.lif_step.cases import CUBA
from event_ops.surrogate import fast_sigmoid


def one(V, w, *, I):
    return V + I, w


def over(V, w, *, V_th):
    return V - V_th


WRONG_MODELS = {
    "no state": (lambda: neuron_step(lambda *, I: I, threshold=over), TypeError, "nothing by position"),
    "threshold": (
        lambda: neuron_step(one, threshold=lambda V, *, V_th: V - V_th),
        TypeError,
        "threshold takes V by position; expected all states, as one does: V, w",
    ),
    "reset": (lambda: neuron_step(one, threshold=over, reset=lambda: 0), TypeError, "reset takes nothing by"),
    "held": (lambda: neuron_step(one, threshold=over, held=("v",)), ValueError, "held is .*from V, w"),
    "held text": (lambda: neuron_step(one, threshold=over, held="V"), ValueError, "from V, w, as a tuple"),
    "a taken name": (
        lambda: neuron_step(lambda V, *, backend: V, threshold=lambda V: V),
        ValueError,
        "a variable 'backend', which is the name of something else",
    ),
}
X = np.ones(3, "f")


def of(model, *states, **variables):
    return lambda: model(*states, **variables)


WRONG_CALLS = {
    "states": (of(LIF, X, I_syn=X, **CUBA), TypeError, r"given 1 state\(s\); expected 2: V_m, refractory"),
    "missing": (of(IZHIKEVICH, X, X, I_syn=X), TypeError, "given no a, b, dt, c, d; expected by name: I_"),
    "unknown": (
        of(IZHIKEVICH, X, X, I_syn=X, **REGULAR_SPIKING, tau=1.0), TypeError, "the unknown tau; expected",
    ),
    "one value": (
        of(neuron_step(lambda V, w: V, threshold=lambda V, w: V), X, X), ValueError, r"returns 1 value\(s\)",
    ),
    "no number": (
        of(neuron_step(lambda V: V, threshold=lambda V: None), X), TypeError, "returns None; expected a",
    ),
    "a branch": (
        of(neuron_step(lambda V: V if V > 0 else -V, threshold=lambda V: V), X),
        jax.errors.TracerBoolConversionError,
        r"branches on `V > 0`, .*jnp.where",
    ),
    "a primitive": (
        of(neuron_step(lambda V: jax.lax.lgamma(V), threshold=lambda V: V), X),
        ValueError,
        (r"'<lambda>', .*test_neuron_step_errors.py:\d+, "
         "uses the primitive 'lgamma', .* of neuron models lack"),
    ),
    "random": (
        of(neuron_step(lambda V: V + jax.random.normal(jax.random.key(0), ()), threshold=lambda V: V), X),
        ValueError,
        r"noise=\{'xi': 'normal'\}\), or draw them outside, one for each neuron",
    ),
    "a flag and a surrogate": (
        of(neuron_step(lambda V: V, threshold=lambda V: V > 0), X, surrogate=fast_sigmoid()),
        TypeError,
        "returns a flag, which has no derivative; .*V_m - V_th",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_MODELS | WRONG_CALLS)
def test_what_is_wrong_is_said(name):
    make, error, match = (WRONG_MODELS | WRONG_CALLS)[name]
    with pytest.raises(error, match=match):
        make()


def test_what_is_traced_around_a_model_has_to_be_passed():
    def run(rate):
        return neuron_step(lambda V: V * rate, threshold=lambda V: V)(X)

    with pytest.raises(ValueError, match=r"neuron model '<lambda>' reads .*pass it by name, as in step\("):
        jax.jit(run)(2.0)
