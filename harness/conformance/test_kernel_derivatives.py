"""Enzyme's derivatives of the catalog's Numba kernels are those that the operators' rules give.

The kernels are made differentiable here alone. The rules, or the reference, are other code for the same
derivatives: two answers, which are compared beside what the conformance kit compares.
"""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from catalog_operators import OPERATORS
from derivatives import needs_enzyme

from event_ops.cases import CONFORMANCE
from event_ops_harness.conformance.cell import Trial, index_dtype_of, types_of
from event_ops_harness.conformance.derivatives import kernel_derivatives
from event_ops_harness.conformance.kernels import without_rules
from event_ops_harness.conformance.select import widest
from ffi_bridge import numba_kernel
from ffi_bridge.errors import MissingRuleError

pytestmark = needs_enzyme[0]  # 64 bits are the kit's
DTYPE = "float64"
CASES = {x: case for x in OPERATORS for case in x.tagged(CONFORMANCE) if widest(x, case)}
QUICK = "csr_scale_rows"

# Refused, for this reason: exp is computed by the bits of its argument, so that loops over neurons are
# vectorised; numbers of a table are gathered by an instruction that Enzyme does not follow.
BITS, TABLE = "it uses the bits of floating-point numbers", r"it uses llvm\.masked\.gather"
REFUSED = {
    **dict.fromkeys(("adex_step", "hh_cond_exp_step", "lif_cond_alpha_step", "lif_cond_exp_step"), BITS),
    "normal_input": TABLE,
}
# By design: a kernel passes over events that are 0, and a derivative at a branch is that of the branch taken,
# so that of an inactive event is 0; the rule's is the weight, since a product is linear in events.
PASSES_OVER_ZEROS = {
    "compact_event_arrivals",
    "compact_event_matvec",
    "csr_event_arrivals",
    "csr_event_deliver",
    "csr_event_matmat",
    "csr_event_matvec",
    "dense_event_matmat",
    "dense_event_matvec",
    "ell_event_matvec",
    "expsyn_step",
    "procedural_event_matmat",
    "procedural_event_matvec",
    "stdp_on_post",
    "stdp_on_pre",
}


@pytest.fixture
def differentiable(monkeypatch):
    """Have kernels that are wrapped from here on be differentiable."""
    for operator in OPERATORS:
        operator.kernel.backends["cpu"]["numba_cpu"].load()
    for name, module in list(sys.modules.items()):
        if name.startswith("event_ops.") and getattr(module, "numba_kernel", None) is numba_kernel:
            monkeypatch.setattr(module, "numba_kernel", functools.partial(numba_kernel, differentiable=True))


def both_modes(trial, masks):
    """Return the float outputs, their tangents, and the gradients, along what the masks leave."""
    f, xs = trial.differentiable()
    rng = np.random.default_rng(1)
    directions = masked(masks, [jnp.asarray(rng.normal(size=x.shape)) for x in xs])
    outs, tangents = jax.jit(lambda xs, ts: jax.jvp(f, xs, ts))(tuple(xs), tuple(directions))
    covector = [jnp.asarray(rng.normal(size=y.shape)) for y in outs]
    gradients = jax.jit(lambda *xs: jax.vjp(f, *xs)[1](covector))(*xs)
    return outs, tangents, masked(masks, gradients)


def masked(masks, xs):
    return [jnp.where(mask, x, 0) for mask, x in zip(masks, xs, strict=True)]


@pytest.mark.parametrize(
    ("operator", "case"),
    [
        pytest.param(*pair, id=pair[0].name, marks=[] if pair[0].name == QUICK else [pytest.mark.slow])
        for pair in CASES.items()
    ],
)
def test_derivatives(operator, case, differentiable):
    index_dtype = index_dtype_of(DTYPE)
    with types_of(DTYPE, index_dtype):
        trial = Trial(operator, "numba_cpu", case, DTYPE, index_dtype)
        if operator.name in REFUSED:
            with pytest.raises(MissingRuleError, match=REFUSED[operator.name]):
                kernel_derivatives(trial)
            return
        passes_over = operator.name in PASSES_OVER_ZEROS
        masks = [x != 0 if passes_over else jnp.full(x.shape, True) for x in trial.differentiable()[1]]
        if all(mask.all() for mask in masks):
            kernel_derivatives(trial)
        by_rules = both_modes(trial, masks)
        with without_rules():
            trial.same(both_modes(trial, masks), by_rules, 10)


def test_those_that_differ_exist():
    assert {operator.name for operator in CASES} >= REFUSED.keys() | PASSES_OVER_ZEROS | {QUICK}
