"""The kit catches kernels that are broken on purpose, each by the property that should catch it."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from numba import njit, prange

from event_ops_harness.conformance import Case, Mistake, check_operator
from event_ops_harness.conformance.properties import GUARDED
from ffi_bridge import XLACustomKernel, numba_kernel

EXAMPLE = Path(__file__).parents[1] / "examples" / "outside"


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


@njit
def reads_beyond(x, y):
    for i in range(x.size):
        y[i] = 2 * x[i] + 0 * x[i + 1]


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


def test_a_mistake_that_is_not_refused_is_found(operator):
    mistake = Mistake(
        "text", lambda: ((np.zeros(2, "f"),), {"outs": jax.ShapeDtypeStruct((2,), "f")}), ValueError, ""
    )
    report = check_operator(operator(right), [twice(5)], mistakes=[mistake], properties=["mistakes"])
    assert "nothing was raised" in str(report)


def test_what_cannot_be_looked_at_is_skipped_and_says_what_is_needed(operator):
    report = check_operator(operator(right), [twice(5)], properties=["bounds"])
    (outcome,) = report.outcomes
    assert (outcome.status, outcome.reason) == ("skipped", "run with NUMBA_BOUNDSCHECK=1 FFI_BRIDGE_DEBUG=1")


def test_no_cases_and_unknown_properties_are_refused(operator):
    with pytest.raises(ValueError, match="has no cases; give at least one"):
        check_operator(operator(right))
    with pytest.raises(ValueError, match="no property is called speed; there are: values"):
        check_operator(operator(right), [twice(5)], properties=["speed"])


def run_pytest(tmp_path, *options, **environment):
    path = os.pathsep.join([str(tmp_path), str(EXAMPLE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    plugin = ("-p", "event_ops_harness.conformance.plugin") if not installed() else ()
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *plugin, *options]
    env = os.environ | {"PYTHONPATH": path} | environment
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)


def installed():
    """Whether pytest finds the plugin by itself."""
    found = importlib.metadata.entry_points(group="pytest11")
    return any(point.name == "event_ops_harness" for point in found)


BROKEN = """
import warp as wp
from test_conformance_kit import reads_beyond, reference, twice
from event_ops_harness.conformance import Operator
from ffi_bridge import XLACustomKernel, numba_kernel, warp_kernel

@wp.kernel
def writes_beyond(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]
    y[i + 1] = 0.0

kernel = XLACustomKernel("reads_beyond")
kernel.def_reference(reference)
kernel.def_numba_kernel(lambda *, outs, **_: numba_kernel(reads_beyond, outs))
kernel.def_warp_kernel(lambda *, outs, **_: warp_kernel(writes_beyond, outs))
OPERATORS = [Operator("reads_beyond", kernel, kernel, ("float32",), (twice(5),))]
"""


def test_reads_and_writes_out_of_bounds_are_found(tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN)
    here = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    options = ("--operators", "broken", "--properties", "bounds,shard_map")
    done = run_pytest(tmp_path, *options, **GUARDED, PYTHONPATH=os.pathsep.join([str(tmp_path), here]))
    assert "3 failed" in done.stdout, done.stdout + done.stderr
    assert "reads_beyond-numba_cpu-of-5-float32-bounds" in done.stdout and "IndexError" in done.stdout
    assert "reads_beyond-warp-of-5-float32-bounds" in done.stdout
    assert "kernel 'writes_beyond' wrote behind its output 'y'" in done.stdout


def test_an_outside_package_is_tested_by_its_name(tmp_path):
    outcomes = tmp_path / "cells.json"
    options = ("--operators", "leaky_ops.conformance", "--cells-json", str(outcomes))
    done = run_pytest(tmp_path, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads(outcomes.read_text())
    assert {cell["status"] for cell in cells} == {"passed", "skipped"}
    assert all(cell["reason"] for cell in cells if cell["status"] == "skipped")
    assert {cell["backend"] for cell in cells} == {"numba_cpu", "reference"}


def test_one_cell_is_repeated_by_its_id(tmp_path):
    cell = "leaky_sum-numba_cpu-random-float32-jit"
    done = run_pytest(tmp_path, "--operators", "leaky_ops.conformance", "--cell", cell)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
