"""Every CUDA backend, compiled for a GPU and run on one made of Python, gives what a plain loop gives."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from cells import arguments, assert_close, bound, needs_x64, small
from oracles import oracle

from event_ops.case import CONFORMANCE
from event_ops.discover import operators
from ffi_bridge.backends import Backend
from ffi_bridge.emulated import emulate_gpu

ON_GPU = [operator for operator in operators() if "numba_cuda" in operator.kernel.backend_names]
CELLS = [
    pytest.param(operator, case, dtype, id=f"{operator.name}-numba_cuda-{case.name}-{dtype}")
    for operator in ON_GPU
    for case in operator.tagged(CONFORMANCE)
    if small(operator, case)
    for dtype in (operator.dtypes if case is operator.cases[0] else operator.dtypes[:1])
]


@pytest.fixture(scope="session")
def gpu():
    return emulate_gpu()


@pytest.fixture
def on_cpu(gpu, monkeypatch):
    """Offers an operator's CUDA backend on the CPU, where the emulated GPU launches."""

    def offer(kernel):
        generator = kernel._kernels["gpu"]["numba_cuda"].generator
        monkeypatch.setitem(kernel._kernels["cpu"], "numba_cuda", Backend("numba_cuda", "cpu", generator))

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
