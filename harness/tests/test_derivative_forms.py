"""The kit looks at derivatives that kernels have of their own, and finds those that are wrong."""

import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import jax
from derivative_forms import ALONE, RETURNED, RIGHT, WITHOUT, WRITTEN
from derivatives import needs_enzyme

from event_ops_harness.conformance import check_operator
from ffi_bridge.numba_cpu.derivatives import enzyme
from ffi_bridge.numba_cpu.derivatives.calls import Derivative, DifferentiableKernel

with_enzyme = needs_enzyme[0]  # 64 bits are the kit's


def outcome_of(operator):
    (outcome,) = check_operator(operator, properties=["kernel_derivatives"]).outcomes
    return outcome


@with_enzyme
@pytest.mark.parametrize("operator", RIGHT, ids=lambda x: x.name)
def test_right_ones_pass(operator):
    outcome = outcome_of(operator)
    assert (outcome.status, outcome.cell.backend) == ("passed", "numba_cpu"), outcome.reason


@with_enzyme
@pytest.mark.slow
@pytest.mark.parametrize("operator", RIGHT, ids=lambda x: x.name)
def test_right_ones_have_every_property(operator):
    report = check_operator(operator)
    assert not report.failures, str(report)
    passed = {outcome.cell.prop.name for outcome in report.outcomes if outcome.status == "passed"}
    assert {"jvp", "vjp", "second", "vmap_grad", "remat", "kernel_derivatives"} <= passed


@with_enzyme
def test_an_operator_of_one_kernel_alone_has_its_derivatives():
    report = check_operator(ALONE, properties=["values", "nan", "jvp", "vjp", "vmap_grad"])
    assert not report.failures, str(report)
    assert [x.cell.prop.name for x in report.outcomes if x.status == "skipped"] == ["nan"]


@pytest.fixture
def uncached():
    """Have JAX differentiate anew what it has differentiated before, then and afterwards."""
    jax.clear_caches()
    yield
    jax.clear_caches()


def twice(found):
    return [x if isinstance(x, jax.interpreters.ad.Zero) or x is None else 2 * x for x in found]


def in_front(found, call):
    outs, tangents = found
    return outs, twice(tangents)


def backwards(found, call):
    return [x if x is None or not call.sizes else x[::-1] for x in found]


@with_enzyme
@pytest.mark.usefixtures("uncached")
@pytest.mark.parametrize(
    ("kind", "rule", "wrong", "says"),
    [
        (DifferentiableKernel, "jvp", in_front, "Not equal to tolerance"),
        (Derivative, "transpose", lambda found, call: twice(found), "Not equal to tolerance"),
        (Derivative, "transpose", backwards, "the output is wrong at"),
    ],
    ids=["forward", "reverse", "batched"],
)
def test_a_wrong_one_is_found(monkeypatch, kind, rule, wrong, says):
    right = getattr(kind, rule)
    monkeypatch.setattr(kind, rule, lambda *given: wrong(right(*given), given[-1]))
    outcome = outcome_of(WRITTEN)
    assert outcome.status == "failed" and says in outcome.reason


def test_kernels_without_derivatives_are_skipped():
    assert outcome_of(WITHOUT).reason.startswith("its kernels have no derivatives: no numba_kernel(")


def test_without_enzyme_the_reason_says_what_to_install(monkeypatch):
    monkeypatch.setenv(enzyme.VARIABLE, "")
    monkeypatch.setattr(enzyme.importlib.util, "find_spec", lambda name: None)
    outcome = outcome_of(RETURNED)
    assert outcome.status == "skipped" and "needs the package enzyme-ad" in outcome.reason
