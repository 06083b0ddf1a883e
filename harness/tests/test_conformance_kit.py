"""The kit catches kernels that are broken on purpose, each by the property that should catch it."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from numba import njit, prange
from other_pytest import run_pytest

from event_ops_harness.conformance import Case, InvalidCall, Operator, check_operator
from ffi_bridge import XLACustomKernel, numba_kernel


def twice(size):
    """Inputs of an operator that is to give 2 * x."""

    def make(rng, dtype, index_dtype):
        x = rng.normal(size=size).astype(dtype)
        return (x,), {"outs": jax.ShapeDtypeStruct(x.shape, x.dtype)}

    return Case(f"of-{size}", make, differentiable=(0,))


def reference(**_):
    return lambda x: 2 * x


@njit
def right(x, y):
    for i in range(x.size):
        y[i] = 2 * x[i]


@njit
def shifted(x, y):
    for i in range(x.size):
        y[i] = 2 * x[max(i - 1, 0)]


@njit
def leaves_the_last(x, y):
    for i in range(x.size - 1):
        y[i] = 2 * x[i]


@njit(parallel=True)
def races(x, y):
    y[:] = 0
    for i in prange(x.size):
        y[i % 2] += x[i]


@pytest.fixture
def operator(request):
    def made(kernel):
        made = XLACustomKernel(f"kit_{request.node.name}")
        made.def_reference(reference)
        made.def_numba_kernel(lambda *, outs, **_: numba_kernel(kernel, outs))
        return made

    return made


def test_a_right_kernel_has_every_property(operator):
    report = check_operator(operator(right), [twice(5), twice(0)], dtypes=("float32", "float64"))
    assert not report.failures, str(report)
    passed = {outcome.cell.prop.name for outcome in report.outcomes if outcome.status == "passed"}
    assert {"values", "jit", "vmap", "scan", "jvp", "vjp", "second", "written", "threads"} <= passed


def test_a_row_beside_is_a_wrong_value(operator):
    report = check_operator(operator(shifted), [twice(7), twice(5)], properties=["values"])
    assert report.caught_by() == {"values"}
    assert report.failures[0].cell.case.name == "of-5"  # the smaller first
    text = str(report)
    assert "got" in text and "expected" in text and "input 0: float32[5]" in text


def test_an_element_that_is_not_written_is_found(operator):
    report = check_operator(operator(leaves_the_last), [twice(5)], properties=["written"])
    assert "an element is left as memory was" in str(report)


def test_a_wrong_dtype_is_found(request):
    kernel = XLACustomKernel(f"kit_{request.node.name}")
    kernel.def_reference(lambda **_: lambda x: 2 * x)
    kernel.def_numba_kernel(lambda *, outs, **_: lambda x: jnp.asarray(2 * x, jnp.float32))
    report = check_operator(kernel, [twice(5)], dtypes=("float32", "float64"), properties=["values"])
    (failure,) = report.failures
    assert failure.cell.dtype == "float64" and "float32" in failure.reason


def test_a_race_shows_in_equal_calls(request):
    def make(rng, dtype, index_dtype):
        x = rng.random(8_000_000, dtype)  # threads work on it side by side for a while
        return (x,), {"outs": jax.ShapeDtypeStruct((2,), x.dtype)}

    kernel = XLACustomKernel(f"kit_{request.node.name}")
    kernel.def_reference(lambda **_: lambda x: x.reshape(-1, 2).sum(0))
    kernel.def_numba_kernel(lambda *, outs, **_: numba_kernel(races, outs))
    report = check_operator(
        kernel, [Case("large", make, tolerance=1e3)], properties=["values", "deterministic"]
    )
    assert "deterministic" in report.caught_by()


def test_the_sign_of_a_gradient_is_found(operator):
    kernel = operator(right)
    kernel.def_jvp_rule2(lambda tangent, x, *, outs, backend: -kernel(tangent, outs=outs, backend=backend))
    report = check_operator(kernel, [twice(5)], properties=["values", "jvp", "vmap"])
    assert report.caught_by() == {"jvp"}


def test_a_nan_that_an_inactive_event_lets_through_is_found(request):
    active = np.arange(5) % 2 == 0

    def masked(hides):
        kernel = XLACustomKernel(f"kit_{request.node.name}_{hides}")
        kernel.def_tags("event-driven")
        of = (lambda x: jnp.where(active, x, 0)) if hides else lambda x: x * active.astype(x.dtype)
        kernel.def_reference(lambda **_: lambda x: jnp.where(active, x, 0))
        kernel.def_jvp_rule2(lambda tangent, x, *, outs, backend: of(tangent))
        return check_operator(kernel, [twice(5)], properties=["nan_derivatives"])

    assert not masked(hides=True).failures
    assert "a cotangent of NaN at [1] of array 0 shows at [1]" in str(masked(hides=False))


def test_a_wrong_batching_rule_is_found(operator):
    kernel = operator(right)

    @kernel.def_batching_rule
    def batch(args, axes, *, outs, backend):
        return 2 * args[0][::-1], 0

    report = check_operator(kernel, [twice(5)], properties=["values", "vmap", "jit"])
    assert report.caught_by() == {"vmap"}


def test_an_eager_call_with_a_value_of_its_own_is_found(operator):
    kernel = operator(right)

    def a_third(x, *, backend=None):
        third = x * np.float32(1 / 3) if isinstance(x, jax.core.Tracer) else x / np.float32(3)
        return kernel(third, outs=jax.ShapeDtypeStruct(x.shape, x.dtype), backend=backend)

    case = Case("of-9", lambda rng, dtype, index_dtype: ((rng.normal(size=9).astype(dtype),), {}))
    report = check_operator(
        Operator("a_third", a_third, kernel, ("float32",), (case,)), properties=["jit", "eager"]
    )
    assert report.caught_by() == {"eager"}


def test_a_mistake_that_is_not_refused_is_found(operator):
    invalid_call = InvalidCall(
        "text", lambda: ((np.zeros(2, "f"),), {"outs": jax.ShapeDtypeStruct((2,), "f")}), ValueError, ""
    )
    report = check_operator(
        operator(right), [twice(5)], invalid_calls=[invalid_call], properties=["invalid_calls"]
    )
    assert "nothing was raised" in str(report)


def test_what_cannot_be_looked_at_is_skipped_and_says_what_is_needed(operator):
    report = check_operator(operator(right), [twice(5)], properties=["bounds", "values"])
    (outcome,) = [outcome for outcome in report.outcomes if outcome.status == "skipped"]
    assert outcome.reason.startswith(
        "run with NUMBA_BOUNDSCHECK=1, or list the Operator in OPERATORS of a module"
    )
    assert "2 passed, 0 failed, 1 skipped\n1 skipped, bounds: run with" in str(report)


def test_no_cases_and_unknown_properties_are_refused(operator):
    with pytest.raises(ValueError, match="has no cases; give at least one"):
        check_operator(operator(right))
    with pytest.raises(ValueError, match="no property is called speed; there are: values"):
        check_operator(operator(right), [twice(5)], properties=["speed"])


FEW = "reads_beyond and bounds or writes_far and values or (adds_to_one- or reads_a_ or doubles) and races"


def look_at_broken(folder, expression, properties):
    """(operator, backend, case, property) -> its outcome, in a run without variables."""
    outcomes = folder / "cells.json"
    options = ("--operators", "broken_operators", "--properties", properties, "-k", expression)
    done = run_pytest(folder, *options, "--cells-json", str(outcomes))
    assert done.returncode == 1, done.stdout + done.stderr
    cells = json.loads(outcomes.read_text())
    return {tuple(cell[k] for k in ("operator", "backend", "case", "property")): cell for cell in cells}


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory):
    pytest.importorskip("warp", reason="Warp is not installed")
    return look_at_broken(tmp_path_factory.mktemp("few"), FEW, "values,bounds,races")


@pytest.mark.slow
def test_reads_and_writes_out_of_bounds_are_found_without_variables(looked_at):
    read = looked_at["reads_beyond", "numba_cpu", "of-42", "bounds"]
    assert read["status"] == "failed" and "kernel 'reads_beyond' raised IndexError" in read["reason"]
    written = looked_at["reads_beyond", "warp", "of-42", "bounds"]
    assert written["status"] == "failed"
    assert "kernel 'writes_beyond' wrote behind its output 'y'" in written["reason"]


@pytest.mark.slow
def test_a_write_that_ends_the_process_fails_its_cell_and_names_the_kernel(looked_at):
    cell = looked_at["writes_far", "numba_cpu", "of-42", "values"]
    assert cell["status"] == "failed"
    assert "ended by SIGSEGV: a kernel has probably read or written out of bounds" in cell["reason"]
    assert "with index checks and canaries: JaxRuntimeError: INTERNAL: kernel 'writes_far'" in cell["reason"]
    assert looked_at["writes_far", "reference", "of-42", "values"]["status"] == "passed"


@pytest.mark.slow
def test_races_are_found_on_small_inputs(looked_at):
    added = looked_at["adds_to_one", "numba_cpu", "of-42", "races"]
    assert added["status"] == "failed" and "kernel 'adds_to_one' races: two shares" in added["reason"]
    read = looked_at["reads_a_neighbour", "numba_cpu", "of-42", "races"]
    assert read["status"] == "failed" and "got nan" in read["reason"]
    assert looked_at["doubles", "numba_cpu", "of-42", "races"]["status"] == "passed"


@pytest.mark.slow
def test_races_are_found_by_their_properties_and_right_kernels_have_all(tmp_path):
    found = look_at_broken(tmp_path, "not reads_beyond", "values,bounds,races,deterministic,threads")
    failed = {place for place, cell in found.items() if cell["status"] == "failed"}
    on_numba = {(name, case, prop) for name, backend, case, prop in failed if backend == "numba_cpu"}
    assert len(failed) == len(on_numba)
    if_large = {(case, prop) for name, case, prop in on_numba if name == "adds_to_one_if_large"}
    assert {case for case, _ in if_large} == {"of-4000000"}
    assert {prop for _, prop in if_large} >= {"races", "deterministic"}
    for name in ("adds_to_scratch", "adds_to_one", "reads_a_neighbour"):
        assert (name, "of-42", "races") in on_numba
        assert (name, "of-42", "values") not in on_numba
    assert {name for name, *_ in on_numba} & {"doubles", "adds_up"} == set()
    not_looked_at = [cell for cell in found.values() if "not looked at" in cell["reason"]]
    assert {(cell["operator"], cell["status"]) for cell in not_looked_at} == {("writes_far", "skipped")}


def test_an_operator_that_a_module_lists_is_looked_at_in_another_process():
    broken = pytest.importorskip("broken_operators", exc_type=ImportError)
    report = check_operator(broken.OPERATORS[0], properties=["bounds"])
    assert {outcome.cell.backend for outcome in report.failures} == {"numba_cpu", "warp"}
    assert "kernel 'reads_beyond' raised IndexError" in str(report)
