"""A function that needs a value where it is traced is refused with its line, what it did, and a remedy."""

import math
import re
from math import exp as exponential

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import neuron_step, plasticity

X, TABLE = np.ones(3, "f"), np.arange(3, dtype="f")


def branching(x, *, dt):
    if x > -50:
        return x
    return -x


def looping(x, *, dt):
    while x > 0:
        x = x - 1
    return x


def iterating(x, *, dt):
    for part in x:
        x = x + part
    return x


def counting(x, *, dt):
    for _ in range(x):
        x = x + 1
    return x


# What a function does, what the error calls it, and the remedy.
FUNCTIONS = {
    "np.exp": (lambda x, *, dt: x * np.exp(-dt / 20), "calls `np.exp(-dt / 20)`", "use jnp.exp"),
    "math.exp": (lambda x, *, dt: x * math.exp(-dt / 20), "calls `math.exp(-dt / 20)`", "use jnp.exp"),
    "exp": (lambda x, *, dt: x * exponential(-dt), "calls `exponential(-dt)`", "use jnp.exp"),
    "np.where": (lambda x, *, dt: np.where(x > 0, x, -x), "calls `np.where(x > 0, x, -x)`", "use jnp.where"),
    "np.float32": (lambda x, *, dt: np.float32(x), "calls `np.float32(x)`", "cast it: V.astype(jnp.float32)"),
    "float": (lambda x, *, dt: float(x) * 2, "calls `float(x)`", "leave it out"),
    "int": (lambda x, *, dt: int(x) * 1.0, "calls `int(x)`", "round it: jnp.floor(V)"),
    "item": (lambda x, *, dt: x.item(), "calls `x.item()`", "leave it out"),
    "max": (lambda x, *, dt: max(x, 0.0), "calls `max(x, 0.0)`", "use jnp.maximum"),
    "len": (lambda x, *, dt: x + len(x), "calls `len(x)`", "a scalar has no length"),
    "if": (branching, "branches on `x > -50`", "choose between two values by jnp.where"),
    "while": (looping, "loops while `x > 0`", "write the steps out"),
    "for": (iterating, "loops over a scalar", "write down a number of turns"),
    "range": (counting, "calls `range(x)`", "write down a number of turns"),
    "and": (lambda x, *, dt: jnp.where(x > 0 and x < 1, x, 0), "computes `x > 0 and x < 1`", "use & and |"),
    "chain": (lambda x, *, dt: jnp.where(0 < x < 1, x, 0), "computes `0 < x < 1`", "use & and |"),
    "not": (lambda x, *, dt: jnp.where(not x > 0, x, 0), "computes `not x > 0`", "use ~"),
    "in": (lambda x, *, dt: x if x in {1, 2} else 0, "computes `x in {1, 2}`", "compare with each"),
    "index": (lambda x, *, dt: [1.0, 2.0][x], "computes `[1.0, 2.0][x]`", "by jnp.where or jnp.select"),
    "table": (lambda x, *, dt: TABLE[x.astype(int)], "computes `TABLE[x.astype(int)]`", "by jnp.where"),
    "shape": (lambda x, *, dt: jnp.zeros(x).sum(), "calls `jnp.zeros(x)`", "expected scalars"),
}


def in_a_model(function):
    return neuron_step(function, threshold=lambda V: V)(X, dt=0.1)


def in_a_rule(function):
    return plasticity.on_pre(function, X[None], spikes_pre=np.ones(1, bool), dt=0.1)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("role", "use"), [("neuron model", in_a_model), ("rule", in_a_rule)])
def test_the_error_has_the_line_and_a_remedy(name, role, use):
    function, said, remedy = FUNCTIONS[name]
    first = function.__code__.co_firstlineno
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        use(function)
    text = re.escape(f"the {role} {function.__name__!r}, {__file__}:")
    found = re.match(rf"{text}(\d+), (.*), where values are not known yet: [^;]*; (.*)$", str(caught.value))
    assert found and first <= int(found[1]) <= first + 1, str(caught.value)
    assert found[2] == said and remedy in found[3]


def test_the_line_is_that_of_a_helper_outside():
    def gate(V):
        return np.tanh(V)

    with pytest.raises(jax.errors.TracerArrayConversionError, match=r":\d+, calls `np.tanh\(V\)`.*jnp.tanh"):
        in_a_model(lambda x, *, dt: gate(x) * dt)


@pytest.mark.parametrize("role", ["threshold", "reset"])
def test_a_threshold_and_a_reset_are_looked_at_too(role):
    functions = {"threshold": lambda V: V} | {role: lambda V: math.cos(V)}
    with pytest.raises(TypeError, match=r"the neuron model '<lambda>', .*use jnp.cos"):
        neuron_step(lambda V: V, **functions)(X)


def test_an_error_of_its_own_stays_as_it_is():
    with pytest.raises(ValueError, match=r"^could not convert string to float: 'no'\n") as caught:
        in_a_model(lambda x, *, dt: x * float("no"))
    assert any("the neuron model '<lambda>' was traced, at " in note for note in caught.value.__notes__)
