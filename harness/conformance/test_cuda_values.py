"""Every CUDA backend, compiled for a GPU and run on one made of Python, gives what a plain loop gives."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from cells import arguments, assert_close, bound, needs_x64, small
from oracles import oracle

from event_ops.case import CONFORMANCE
from event_ops.discover import operators


def backend_of(operator):
    """The CUDA backend, as it is registered."""
    return operator.kernel._kernels["gpu"]["numba_cuda"]


ON_GPU = [operator for operator in operators() if "numba_cuda" in operator.kernel.backend_names]
# A block for each of 128 digits: half a minute in Python.
MANY_THREADS = {("csr_tocsc", "empty-columns")}

CELLS = [
    pytest.param(
        *(operator, case, dtype),
        id=f"{operator.name}-numba_cuda-{case.name}-{dtype}",
        marks=[pytest.mark.slow] if (operator.name, case.name) in MANY_THREADS else [],
    )
    for operator in ON_GPU
    for case in operator.tagged(CONFORMANCE)
    if small(operator, case)
    for dtype in (operator.dtypes if case is operator.cases[0] else operator.dtypes[:1])
    if dtype not in backend_of(operator).lacks
]


@pytest.fixture
def on_cpu(gpu, monkeypatch):
    """Offers an operator's CUDA backend on the CPU, where the emulated GPU launches."""

    def offer(kernel):
        backend = replace(kernel._kernels["gpu"]["numba_cuda"], platform="cpu")
        monkeypatch.setitem(kernel._kernels["cpu"], "numba_cuda", backend)

    return offer


@pytest.mark.parametrize(("operator", "case", "dtype"), CELLS)
def test_values(on_cpu, operator, case, dtype):
    on_cpu(operator.kernel)
    with needs_x64(dtype):
        args, kwargs = arguments(case, dtype)
        result = bound(operator, "numba_cuda", kwargs)(*args)
        expected = oracle(operator.name)(*map(np.asarray, args), **kwargs)
    assert_close(result, expected, case.relative_tolerance(dtype))


def test_every_operator_has_a_cuda_backend():
    assert [operator.name for operator in operators() if operator not in ON_GPU] == []
