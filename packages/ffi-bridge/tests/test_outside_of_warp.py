"""What kernels read from outside is as it was when they were wrapped, or a form is refused by name."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp

from ffi_bridge import warp_callable, warp_kernel
from ffi_bridge.errors import KernelChangedError
from ffi_bridge.warp.compile import specialised
from ffi_bridge.warp.internals import forget_hash, hash_of_module

X = np.array([1.0, 3.0], np.float32)
GAIN = 2.0


@wp.func
def amplified(v: float):
    return v * GAIN


@wp.kernel
def of_a_function(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = amplified(x[i])


@wp.kernel(module="unique")
def of_any(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] * y.dtype(GAIN)


@wp.kernel
def of_doubles(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = x[i] * wp.float64(GAIN)


WIDE = 0xFFFFFFFF  # of which Warp's own hash has the lower 32 bits as a signed number


@wp.func
def sixteen_bits(v: Any):
    return wp.uint64(v) & (wp.uint64(WIDE) >> wp.uint64(16))


@wp.kernel
def of_a_generic_function(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = float(sixteen_bits(x[i]))


def launching(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.launch(of_a_function, dim=x.shape[0], inputs=[x, y])


def like(x):
    return x


FORMS = {
    "shape": lambda f: f(np.ones(5, np.float32)),
    "batch": lambda f: jax.vmap(f)(np.stack([X, X])),
    "vjp": lambda f: jax.vjp(f, X)[1](np.ones_like(X))[0],
}
KERNELS = {
    "function": lambda: warp_kernel(of_a_function, like, differentiable=True),
    "any": lambda: warp_kernel(of_any, like, differentiable=True),
    "callable": lambda: warp_callable(launching, like),
}


def check(wrapped, form, monkeypatch):
    f = wrapped()
    np.testing.assert_array_equal(f(X), 2 * X)
    monkeypatch.setitem(globals(), "GAIN", 5.0)
    np.testing.assert_array_equal(f(X), 2 * X)
    with pytest.raises(KernelChangedError, match=r"was wrapped when GAIN.* was 2\.0, and now it is 5\.0"):
        form(f)
    assert np.ravel(form(wrapped()))[0] == 5
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert np.ravel(form(f))[0] == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_on_the_cpu(kernel, form, monkeypatch):
    if (kernel, form) == ("callable", "vjp"):
        pytest.skip("a function that launches kernels has no derivatives")
    check(KERNELS[kernel], FORMS[form], monkeypatch)


@pytest.mark.parametrize("form", ["batch", "vjp"])
def test_on_a_gpu(warp_on_gpu, form, monkeypatch):
    check(KERNELS["function"], FORMS[form], monkeypatch)


@pytest.mark.usefixtures("wide")
def test_constants_count_in_full(monkeypatch):
    """Warp's own hash has 32 bits of a number of Python."""
    found = []
    for value in (2.0, 2.0 + 1e-9, 2.0):
        monkeypatch.setitem(globals(), "GAIN", value)
        found.append(float(warp_kernel(of_doubles, like)(jnp.ones(1))[0]))
    assert found == [2.0, 2.0 + 1e-9, 2.0]


def test_the_hash_of_a_kernel_does_not_tell_whether_it_was_built():
    """Else a second call would compile again, and its machine code have another entry than its PTX."""
    kernel = specialised(of_a_generic_function, [wp.array(dtype=float), wp.array(dtype=float)])
    first = hash_of_module(kernel, 1)
    np.testing.assert_array_equal(warp_kernel(of_a_generic_function, like)(X), X)
    forget_hash(kernel)
    assert hash_of_module(kernel, 1) == first


def test_another_function_of_the_same_name(monkeypatch):
    @wp.func
    def amplified(v: float):
        return v * 7.0

    f = warp_kernel(of_a_function, like)
    f(X)
    monkeypatch.setitem(globals(), "amplified", amplified)
    with pytest.raises(KernelChangedError, match="was the function amplified, and now it is not there"):
        jax.vmap(f)(np.stack([X, X]))
