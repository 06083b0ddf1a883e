"""Functions that users give are called as they are now: each is changed between two calls, in several ways.

The object stays the same, so that a cache that has it as a key would return what it was before.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import CSR, gsddmm, gspmm, neuron_step, plasticity, spike_detect_reset
from event_ops.network import Network, Population

A = CSR.from_dense(np.float32([[0, 2], [1, 3]]))
X = np.float32([0.5, 1.5])
SPIKES = np.array([True, True])
HOW = {"backend": "reference"}  # what lies above the choice of a backend is the same for all
FACTOR = 1.0


def read_from_a_global():
    def change():
        global FACTOR
        FACTOR = 2.0

    globals()["FACTOR"] = 1.0
    return lambda x: FACTOR * x, change


def read_by_a_helper():
    def times(x):
        return helper(x)

    def helper(x):
        return x

    def change():
        nonlocal helper
        helper = lambda x: 2 * x  # noqa: E731

    return times, change


def read_from_a_default():
    def times(x, factor=1.0):
        return factor * x

    return times, lambda: vars(type(times))["__defaults__"].__set__(times, (2.0,))


def read_from_a_dictionary():
    read = {"factor": 1.0}
    return lambda x: read["factor"] * x, lambda: read.update(factor=2.0)


def read_from_a_table():
    """The text of the array leaves out the element that changes."""
    table = [np.ones(1010, np.float32)]

    def change():
        table[0] = table[0] + (np.arange(1010) == 505)

    return lambda x: jnp.asarray(table[0])[505] * x, change


def rule_of(times):
    """Return a function whose derivative alone is `times`."""

    @jax.custom_jvp
    def of_rule(x):
        return x

    of_rule.defjvp(lambda primals, dots: (of_rule(*primals), times(dots[0])))
    return of_rule


WAYS = (read_from_a_global, read_by_a_helper, read_from_a_default, read_from_a_dictionary, read_from_a_table)


def stepped(times):
    step = neuron_step(lambda V_m, *, I_syn: times(V_m + I_syn), threshold=lambda V_m: V_m - 9)
    return lambda: step(X, I_syn=0.5, **HOW)[0]


def messages(times, product=gspmm):
    message = lambda weight: times(weight)  # noqa: E731
    return lambda: product(message, A, **HOW)


def learned(times):
    rule = lambda w: times(w)  # noqa: E731
    return lambda: plasticity.on_pre(rule, np.ones((2, 2), np.float32), spikes_pre=SPIKES, **HOW)


def run(times):
    model = neuron_step(lambda V_m: times(V_m), threshold=lambda V_m: V_m - 9)
    network = Network(Population(2, model))
    return lambda: network.run(network.state({"V_m": X}), 1, **HOW)[0].neurons["V_m"]


def slope(spiking):
    def of(times):
        surrogate = lambda x: times(jnp.ones_like(x))  # noqa: E731
        return lambda: jax.grad(lambda V: spiking(V, surrogate).sum())(jnp.asarray(X))

    return of


def compared(V_m, surrogate):
    return spike_detect_reset(V_m, V_th=1.0, V_reset=0.0, surrogate=surrogate, **HOW)[1]


THRESHOLD = neuron_step(lambda V_m: V_m, threshold=lambda V_m: V_m - 1)


def crossed(V_m, surrogate):
    return THRESHOLD(V_m, surrogate=surrogate, **HOW)[1]


def slope_of_messages(times):
    def of_sources(x_src):
        return rule_of(times)(x_src)

    return lambda: jax.grad(lambda x: gspmm(of_sources, A, x_src=x, **HOW).sum())(jnp.asarray(X))


def curvature_of_messages(times):
    """The rule of a rule, which first derivatives do not call."""

    @jax.custom_jvp
    def of_rules(x):
        return x * x

    once = rule_of(times)
    of_rules.defjvp(lambda primals, dots: (of_rules(*primals), 2 * once(primals[0]) * dots[0]))

    def of_sources(x_src):
        return of_rules(x_src)

    first = jax.grad(lambda x: gspmm(of_sources, A, x_src=x, **HOW).sum())
    return lambda: jax.grad(lambda x: first(x).sum())(jnp.asarray(X))


USERS = {
    "neuron_step": stepped,
    "gspmm": messages,
    "gsddmm": lambda times: messages(times, gsddmm),
    "on_pre": learned,
    "Network.run": run,
    "surrogate": slope(compared),
    "surrogate of neuron_step": slope(crossed),
    "rule of a message": slope_of_messages,
    "rule of a rule": curvature_of_messages,
}


@pytest.mark.parametrize("user", USERS)
def test_changed_function_is_called_as_it_is_now(user):
    for way in WAYS:
        times, change = way()
        call = USERS[user](times)
        before = np.asarray(call())
        change()
        np.testing.assert_array_equal(np.asarray(call()), 2 * before, way.__name__)
        assert before.any()
