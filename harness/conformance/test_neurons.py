"""A model of one neuron has every property of an operator, and a broken compiler of models is noticed."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from neuron_operators import OPERATORS
from reviewed import APART, assert_all_hold, assert_holds, parameters

from event_ops.codegen import function, primitives
from event_ops.kernels.numba_cpu import encodings
from event_ops.kernels.numba_cpu.encodings import finish
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.neurons import emit, model, numba_cpu
from event_ops_harness.conformance.check import look_at
from event_ops_harness.conformance.properties import cells
from event_ops_harness.results import FAILED

MODULE = "neuron_operators"
QUICK = ("values", "jit", "vmap", "vjp", "bounds")
CELLS = cells(OPERATORS)


def is_quick(cell):
    """Return whether `nox -s tests` looks at a cell: values, and a few other properties of one case."""
    first = cell.case.name == "random" and cell.prop.name in QUICK
    usual = cell.prop.name == "values" and "threads" not in cell.case.name
    return cell.backend == "numba_cpu" and cell.dtype in ("float32", cell.prop.dtype) and (first or usual)


@pytest.mark.parametrize("cell", parameters(CELLS, lambda cell: not is_quick(cell)))
def test_cell(cell):
    assert_holds(cell, MODULE)


def divided_and_subtracted(*args, divided=emit.divided):
    """Divide the operations, and subtract where a neuron's values are added."""
    shared, own = divided(*args)
    return shared, [replace(x, primitive="sub") if x.primitive == "add" else x for x in own]


@njit
def count_one_more(buffers, size, spike_ids, num_spikes):
    """Finish a list wrongly: it would have one spike more than there are."""
    finish(buffers + np.uintp(1), size, spike_ids, num_spikes)


# What is replaced by what.
WRONG = {
    "never held": (model, "is_held", lambda left, dt: left > jnp.inf),
    "held by any time": (model, "is_held", lambda left, dt: left > 0),
    "a spike at the threshold": (model, "crossings", lambda V, V_th, surrogate: V_th <= V),
    "derivatives pass": (model, "unless", lambda idle, x: x * 0),
    "subtracted": (emit, "divided", divided_and_subtracted),
    "cheap exp": (primitives.NUMBA_LOOPS.spellings, "exp", "({one} + {0})"),
    "cheap tanh": (primitives.NUMBA_LOOPS.spellings, "tanh", "{0}"),
    "select": (primitives.NUMBA_LOOPS.spellings, "select_n", "select({0}, {1}, {2})"),
    "a long list": (encodings, "finish", count_one_more),
}
DEFAULT = "never held"


@pytest.fixture
def nothing_compiled():
    """Forget what was traced and compiled, before and after."""
    _forget()
    yield
    _forget()


def _forget():
    function._traced_once.cache_clear()
    numba_cpu.kernel.cache_clear()
    jax.clear_caches()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[] if x == DEFAULT else [pytest.mark.slow]) for x in WRONG]
)
def test_the_kit_notices_a_broken_compiler(name, monkeypatch):
    owner, attribute, wrong = WRONG[name]
    plant = monkeypatch.setitem if isinstance(owner, dict) else monkeypatch.setattr
    plant(owner, attribute, wrong)
    outcomes = [
        look_at(cell, MODULE)
        for cell in CELLS
        if cell.backend == "numba_cpu" and cell.dtype == "float32" and cell.prop.name == "values"
        and cell.case.name in ("random", "threshold", "listed")
    ]  # fmt: skip
    assert FAILED in [outcome.status for outcome in outcomes]


@pytest.mark.slow
def test_kernels_stay_in_bounds_run_on_8_devices_and_do_not_race():
    assert_all_hold(MODULE, APART)
