"""What kernels read from outside is as it was when they were wrapped, or a form is refused by name."""

import jax
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge import numba_cuda_callable, numba_cuda_kernel
from ffi_bridge.errors import KernelChangedError

pytestmark = pytest.mark.usefixtures("gpu")
X = np.array([1.0, 3.0], np.float32)
GAIN = 2.0


@cuda.jit(device=True)
def amplified(v):
    return v * np.float32(GAIN)


@cuda.jit
def kernel(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = amplified(x[i])


@cuda.jit
def by_an_argument(x, gain, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i] * np.float32(gain)


def launching(x, y, stream):
    kernel[1, 32, stream](x, y)


def passing(x, y, stream):
    by_an_argument[1, 32, stream](x, GAIN, y)


def like(x):
    return x


FORMS = {
    "shape": lambda f: f(np.ones(5, np.float32)),
    "batch": lambda f: jax.vmap(f)(np.stack([X, X])),
}
KERNELS = {
    "kernel": lambda: numba_cuda_kernel(kernel, like, launch_dims=lambda x: x.shape),
    "launching": lambda: numba_cuda_callable(launching, like),
    "passing": lambda: numba_cuda_callable(passing, like),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrapped", KERNELS)
def test_a_change_is_refused_by_name(wrapped, form, monkeypatch):
    f, form = KERNELS[wrapped](), FORMS[form]
    np.testing.assert_array_equal(f(X), 2 * X)
    monkeypatch.setitem(globals(), "GAIN", 5.0)
    np.testing.assert_array_equal(f(X), 2 * X)
    with pytest.raises(KernelChangedError, match=r"was wrapped when GAIN.* was 2\.0, and now it is 5\.0"):
        form(f)
    assert np.ravel(form(KERNELS[wrapped]()))[0] == 5
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert np.ravel(form(f))[0] == 2
