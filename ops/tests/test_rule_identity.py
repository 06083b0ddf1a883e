"""A rule is traced once, and again when anything that it reads has changed: never does one get old code."""

import dataclasses
import functools
import math
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import plasticity
from event_ops.codegen import function as rules
from event_ops.codegen.identity import identity_of
from event_ops.surrogate import atan, triangular

W, SHAPE = np.array([1.0, 2.0], "f"), (1, 2)
STRUCTURE = np.array([0, 1]), np.array([0, 2]), np.array([True])
FACTOR = 2.0
MODULE = types.ModuleType("a_module")
MODULE.factor = 2.0
SETTINGS, OBJECT = {"factor": 2.0}, types.SimpleNamespace(factor=2.0)


@pytest.fixture
def traced(monkeypatch):
    """Return a list that has one more element after each trace."""
    found, trace = [], rules._traced
    monkeypatch.setattr(rules, "_traced", lambda *args: found.append(1) or trace(*args))
    rules._traced_once.cache_clear()
    return found


def on_pre(rule, w=W, **variables):
    return plasticity.on_pre(rule, w, *STRUCTURE, shape=SHAPE, backend="reference", **variables)


def of_closure():
    factor = 2.0

    def change():
        nonlocal factor
        factor = 3.0

    return (lambda w: w * factor), change


def of_global():
    return (lambda w: w * FACTOR), lambda: globals().update(FACTOR=3.0)


def of_module():
    return (lambda w: w * MODULE.factor), lambda: setattr(MODULE, "factor", 3.0)


def of_module_by_another_name():
    def rule(w):
        other = MODULE
        return w * other.factor

    return rule, lambda: setattr(MODULE, "factor", 3.0)


def of_default():
    def rule(w, factor=2.0):
        return w * factor

    return rule, lambda: setattr(rule, "__defaults__", (3.0,))


def of_keyword_default():
    def rule(w, *, _factor=2.0):
        return w * _factor

    return rule, lambda: rule.__kwdefaults__.update(_factor=3.0)


def of_attribute():
    def rule(w):
        return w * rule._factor

    rule._factor = 2.0
    return rule, lambda: setattr(rule, "_factor", 3.0)


def of_code():
    def rule(w):
        return w * 2.0

    return rule, lambda: setattr(rule, "__code__", (lambda w: w * 3.0).__code__)


def of_called():
    inner, change = of_closure()
    return (lambda w: inner(w)), change


def of_inner():
    factor, change = of_closure()

    def rule(w):
        def inner(x):
            return factor(x)

        return inner(w)

    return rule, change


def of_partial():
    keywords = {"factor": 2.0}
    rule = functools.partial(lambda w, factor: w * factor, **keywords)
    return rule, lambda: rule.keywords.update(factor=3.0)


def of_declared():
    inner, change = of_closure()
    rule = jax.custom_jvp(inner)
    rule.defjvp(lambda primals, tangents: (inner(*primals), inner(*tangents)))
    return rule, change


def of_dict():
    return (lambda w: w * SETTINGS["factor"]), lambda: SETTINGS.update(factor=3.0)


def of_object():
    return (lambda w: w * OBJECT.factor), lambda: setattr(OBJECT, "factor", 3.0)


def of_array():
    factor = np.array(2.0, "f")
    return (lambda w: w * factor), lambda: factor.fill(3.0)


def of_names():
    return (lambda w: w * globals()["FACTOR"]), lambda: globals().update(FACTOR=3.0)


def of_import():
    sys.modules["a_module"] = MODULE

    def rule(w):
        from a_module import factor  # noqa: PLC0415

        return w * factor

    return rule, lambda: setattr(MODULE, "factor", 3.0)


def of_method():
    class Rule:
        factor = 2.0

        def __call__(self, w):
            return w * self.factor

    rule = Rule()
    return rule, lambda: setattr(rule, "factor", 3.0)


KNOWN = (
    of_closure, of_global, of_module, of_default, of_keyword_default, of_attribute, of_code, of_called,
    of_inner, of_partial, of_declared,
)  # fmt: skip
UNKNOWN = of_dict, of_object, of_array, of_names, of_import, of_method, of_module_by_another_name


@pytest.mark.parametrize("make", KNOWN + UNKNOWN)
def test_a_change_of_what_a_rule_reads_is_seen(make, traced):
    rule, change = make()
    try:
        np.testing.assert_array_equal(on_pre(rule), 2 * W)
        np.testing.assert_array_equal(on_pre(rule), 2 * W)
        assert len(traced) == (1 if make in KNOWN else 2)
        change()
        np.testing.assert_array_equal(on_pre(rule), 3 * W)
    finally:
        globals().update(FACTOR=2.0)
        MODULE.factor = SETTINGS["factor"] = OBJECT.factor = 2.0
        sys.modules.pop("a_module", None)


def test_numbers_that_are_equal_are_told_apart(traced):
    def rule(w, factor):
        if isinstance(factor, bool):
            return -w
        return w * math.copysign(1, factor) if isinstance(factor, float) else w * factor

    for factor, expected in ((0.0, W), (-0.0, -W), (1, W), (True, -W), (1.0, W), (np.float32(2), 2 * W)):
        np.testing.assert_array_equal(on_pre(functools.partial(rule, factor=factor)), expected)
    assert len(traced) == 6


def test_functions_that_are_made_anew_are_traced_once(traced):
    for _ in range(3):
        on_pre(lambda w, *, tau: jnp.clip(w * math.exp(-1) / tau, 0, jnp.float32(1)), tau=2.0)
    assert len(traced) == 1


def test_other_dtypes_names_and_places_are_traced_anew(traced):
    def rule(w, **variables):
        return w + sum(variables.values())

    each = np.ones(2, "f")
    for variables in ({"x": 1.0}, {"x": each}, {"x_post": each}, {"x": 1.0, "y": 1.0}):
        np.testing.assert_array_equal(on_pre(rule, **variables), W + len(variables))
    assert len(traced) == 4
    with jax.enable_x64(True):
        assert on_pre(rule, W.astype(float), x=1.0).dtype == "float64"
        np.testing.assert_array_equal(on_pre(rule, x=np.float32(1)), W + 1)
    assert len(traced) == 6
    with jax.numpy_dtype_promotion("standard"):
        on_pre(rule, x=1.0)
    assert len(traced) == 7


def test_a_refused_rule_is_refused_again():
    for _ in range(2):
        with pytest.raises(ValueError, match="lgamma"):
            on_pre(lambda w: jax.lax.lgamma(w))


def test_functions_of_libraries_are_known_by_their_names():
    for function in (jnp.exp, jnp.maximum, jax.nn.sigmoid, jax.lax.rem, np.exp, math.exp, jnp.float32, abs):
        assert identity_of(function) is not None

    @functools.wraps(jnp.exp)
    def disguised(w):
        return w * SETTINGS["factor"]

    for function in (disguised, jax.vmap(disguised), np.random.rand, SETTINGS.get):
        assert identity_of(function) is None


def test_frozen_values_of_libraries_are_known_by_their_fields():
    assert identity_of(atan(2.0)) == identity_of(atan(2.0)) != identity_of(atan(1.0))
    assert identity_of(triangular(2.0)) != identity_of(triangular(1.0)) and identity_of(atan) != identity_of(
        triangular
    )

    @dataclasses.dataclass(frozen=True)
    class Mine:
        alpha: float

    assert identity_of(Mine(2.0)) is None  # its methods may read anything
