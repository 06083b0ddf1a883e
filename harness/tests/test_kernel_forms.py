"""The kit takes operators whose kernels return, are universal functions, call C or have options."""

import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import kernel_forms

from event_ops_harness.conformance import check_operator

RIGHT = [x for x in kernel_forms.OPERATORS if not x.name.endswith("beyond")]
BROKEN = [x for x in kernel_forms.OPERATORS if x.name.endswith("beyond")]


@pytest.mark.slow_cases("returned", "options", "of_c", "core_dimensions")
@pytest.mark.parametrize("operator", RIGHT, ids=lambda x: x.name)
def test_a_right_kernel_passes(operator):
    report = check_operator(operator, properties=("values", "written", "nested_vmap", "scan", "vjp"))
    assert not report.failures, str(report)
    assert sum(outcome.status == "passed" for outcome in report.outcomes) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("operator", RIGHT, ids=lambda x: x.name)
def test_a_right_kernel_has_every_property(operator):
    report = check_operator(operator)
    assert not report.failures, str(report)


@pytest.mark.slow_cases("returned_beyond", "core_beyond")
@pytest.mark.parametrize("operator", BROKEN, ids=lambda x: x.name)
def test_one_that_reads_out_of_bounds_is_caught(operator):
    report = check_operator(operator, properties=("bounds",))
    assert [failure.cell.backend for failure in report.failures] == ["numba_cpu"]
    assert "IndexError" in str(report)
