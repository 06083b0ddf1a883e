"""Operators on the emulated GPU: JAX's CPU takes their backends for a GPU, while the driver lists them."""

import jax
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge import XLACustomKernel, numba_cuda_kernel, use_backend
from ffi_bridge.emulated import emulate_gpu
from ffi_bridge.errors import BackendUnavailableError

X = np.arange(8, dtype=np.float32)
OUT = jax.ShapeDtypeStruct(X.shape, X.dtype)


@cuda.jit
def add_one(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i] + 1


@pytest.fixture
def operator(gpu, monkeypatch, request):
    """An operator whose reference adds nothing, so that its values tell which backend ran."""
    monkeypatch.setattr(gpu, "backends", ("numba_cuda",))
    made = XLACustomKernel(f"emulated_{request.node.name}")
    made.def_reference(lambda **_: lambda x: x)
    made.def_numba_cuda_kernel(lambda *, outs: numba_cuda_kernel(add_one, outs, grid=1, block=8))
    return made


def test_a_cpu_runs_the_backend_that_is_asked_for_and_keeps_its_default(operator):
    np.testing.assert_array_equal(operator(X, outs=OUT, backend="numba_cuda"), X + 1)
    np.testing.assert_array_equal(operator(X, outs=OUT), X)
    assert operator.available_backends("cpu") == ["reference", "numba_cuda"]
    assert operator.explain(backend="numba_cuda").backend == "numba_cuda"


def test_scopes_and_defaults_choose_it_also_in_functions_that_were_compiled(operator):
    f = jax.jit(lambda x: operator(x, outs=OUT))
    np.testing.assert_array_equal(f(X), X)
    with use_backend("numba_cuda", operator):
        np.testing.assert_array_equal(f(X), X + 1)
    operator.set_default("cpu", "numba_cuda")
    np.testing.assert_array_equal(f(X), X + 1)


def test_what_the_driver_does_not_list_is_not_taken(operator, gpu):
    f = jax.jit(lambda x: operator(x, outs=OUT, backend="numba_cuda"))
    np.testing.assert_array_equal(f(X), X + 1)
    gpu.backends = ()
    assert operator.available_backends("cpu") == ["reference"]
    with pytest.raises(BackendUnavailableError, match="registered for gpu"):
        f(X)


def test_a_gpu_is_emulated_once(gpu):
    assert emulate_gpu() is gpu
    with pytest.raises(RuntimeError, match="before"):
        emulate_gpu((8, 0))
