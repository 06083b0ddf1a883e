"""CUDA kernels use memory, warps and registers within limits: counted, not timed."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from event_ops.cases import BENCHMARK
from event_ops.discover import operators

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("warp", reason="warp-lang is not installed")
counters = pytest.importorskip("event_ops_harness.gpu.counters")

LIMITS = tomllib.loads(Path(__file__).with_name("gpu_limits.toml").read_text())
OPERATORS = {operator.name: operator for operator in operators()}
QUICK = ("csr_matvec", "lif_step", "scatter_add", "trace_decay")
FIGURES = {"excess": 1, "local": 1, "streamed": -1, "occupancy": -1}  # 1: at most the limit, -1: at least


def limits(operator, backend):
    exceptions = LIMITS["exceptions"].get(operator, {}).get(backend, {})
    return LIMITS["limits"] | {name: value for name, value in exceptions.items() if name != "reason"}


def beyond(row, allowed=None):
    """Return the figures of a row that are beyond their limits."""
    figures = {name: getattr(row, name) for name in FIGURES}
    allowed = limits(row.operator, row.backend) if allowed is None else allowed
    return {
        name: (figure, allowed[name])
        for name, figure in figures.items()
        if figure is not None and FIGURES[name] * figure > FIGURES[name] * allowed[name]
    }


@pytest.mark.slow_cases("csr_matvec")
@pytest.mark.parametrize("backend", counters.BACKENDS)
@pytest.mark.parametrize("name", QUICK)
def test_the_first_case_of_a_few_operators_is_within_the_limits(gpu, name, backend):
    operator = OPERATORS[name]
    row = counters.count(gpu, operator, operator.tagged(BENCHMARK)[0], backend)
    assert beyond(row) == {} and row.launches and gpu.runs == []


@pytest.mark.slow
@pytest.mark.parametrize("backend", counters.BACKENDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_every_case_of_every_operator_is_within_the_limits(gpu, name, backend):
    rows = list(counters.counted(gpu, [OPERATORS[name]], [backend]))
    assert rows and {row.case: beyond(row) for row in rows if beyond(row)} == {}
    assert needless(rows) == set()


def needless(rows):
    """Return the figures for which these rows need no exception from the limits of all kernels."""
    exceptions = {
        name for row in rows for name in LIMITS["exceptions"].get(row.operator, {}).get(row.backend, {})
    }
    return {
        name
        for name in exceptions - {"reason"}
        if not any(name in beyond(row, LIMITS["limits"]) for row in rows)
    }


def test_counters_are_the_same_each_time(gpu):
    operator = OPERATORS["csr_matvec"]
    case = operator.tagged(BENCHMARK)[0]
    assert len({counters.count(gpu, operator, case, "numba_cuda") for _ in range(2)}) == 1


def test_what_is_worse_than_a_limit_is_found(gpu):
    operator = OPERATORS["trace_decay"]
    row = counters.count(gpu, operator, operator.tagged(BENCHMARK)[0], "numba_cuda")
    worse = {"compulsory": 2 * row.ideal, "local": 8, "streamed": 0.5, "occupancy": 0.25}
    assert beyond(replace(row, **worse)).keys() == FIGURES.keys()


def test_an_exception_that_nobody_needs_is_found(gpu):
    operator = OPERATORS["csr_matvec"]
    rows = [counters.count(gpu, operator, operator.tagged(BENCHMARK)[0], "warp")]
    assert needless(rows) == set()
    assert needless([replace(row, streamed=1.0) for row in rows]) == {"streamed"}


def test_every_exception_is_of_a_kernel_that_there_is_and_has_a_reason():
    for name, backends in LIMITS["exceptions"].items():
        assert backends.keys() <= OPERATORS[name].kernel.backends["gpu"].keys()
        for allowed in backends.values():
            assert allowed.keys() <= {*FIGURES, "reason"} and len(allowed["reason"]) > 20
