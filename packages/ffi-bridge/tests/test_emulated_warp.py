"""Kernels of Warp on the emulated GPU give what they give on the CPU: adjoints and batches, too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp

from ffi_bridge import warp_kernel

F32 = jnp.float32
X = np.linspace(-1, 2, 300, dtype=np.float32)


@wp.kernel
def cubed(x: wp.array(dtype=float), a: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] * x[i] * x[i]


@wp.kernel
def neighbour(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i + 1]


@wp.kernel
def summed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.atomic_add(y, 0, x[wp.tid()])


def both(warp_on_gpu, monkeypatch, compute, *arguments):
    """The results of the CPU and of the emulated GPU, and how many launches that had."""
    before = len(warp_on_gpu.launches)
    on_gpu = jax.tree.map(np.asarray, compute(*arguments))
    launches = warp_on_gpu.launches[before:]
    monkeypatch.setattr(warp_on_gpu, "backends", ())
    jax.clear_caches()
    on_cpu = jax.tree.map(np.asarray, compute(*arguments))
    assert len(warp_on_gpu.launches) == before + len(launches)
    return on_gpu, on_cpu, launches


def f(x):
    return warp_kernel(cubed, jax.ShapeDtypeStruct(X.shape, F32), differentiable=True)(x, 2.0)


def test_a_kernel_and_its_adjoint(warp_on_gpu, monkeypatch):
    def compute(x):
        return jax.value_and_grad(lambda x: f(x).sum())(x)

    (y, slope), on_cpu, launches = both(warp_on_gpu, monkeypatch, compute, X)
    assert len(launches) == 2
    np.testing.assert_allclose(y, on_cpu[0], rtol=1e-6)
    np.testing.assert_allclose(slope, on_cpu[1], rtol=1e-6)
    np.testing.assert_allclose(slope, 6 * X * X, rtol=1e-5)


def test_a_batch_and_its_adjoint_are_a_launch_each(warp_on_gpu, monkeypatch):
    def compute(rows):
        return jax.vmap(jax.value_and_grad(lambda x: f(x).sum()))(rows)

    (y, slopes), on_cpu, launches = both(warp_on_gpu, monkeypatch, compute, np.stack([X, X + 1, X - 1]))
    assert [launch.grid for launch in launches] == [(2, 3, 1)] * 2
    np.testing.assert_allclose(y, on_cpu[0], rtol=1e-6)
    np.testing.assert_allclose(slopes, on_cpu[1], rtol=1e-6)


def test_an_array_that_is_updated_in_place(warp_on_gpu, monkeypatch):
    def compute(x, y):
        out = jax.ShapeDtypeStruct((1,), F32)
        return warp_kernel(summed, out, in_out_argnames=["y"], launch_dims=X.size)(x, y)

    on_gpu, on_cpu, _ = both(warp_on_gpu, monkeypatch, compute, X, np.ones(1, np.float32))
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-5)


def test_an_access_out_of_bounds_names_the_argument_and_the_file_of_the_kernel(warp_on_gpu):
    g = warp_kernel(neighbour, jax.ShapeDtypeStruct(X.shape, F32))
    # The compiler's line may be one a few lines below.
    expected = r"reads 4 bytes .*'x' \(float32\[300\]\), which has 1200\n  at test_emulated_warp.py:\d+:"
    with pytest.raises(jax.errors.JaxRuntimeError, match=expected):
        g(X)


def test_a_second_process_reads_ptx_from_the_kernel_cache(warp_on_gpu, monkeypatch, tmp_path):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("ffi_bridge.warp.cuda._compiled_modules", {})
    np.testing.assert_allclose(f(X), 2 * X**3, rtol=1e-5)
    monkeypatch.setattr("ffi_bridge.warp.cuda._compiled_modules", {})
    monkeypatch.setattr(wp, "compile_aot_module", lambda *_, **__: pytest.fail("compiled again"))
    jax.clear_caches()
    np.testing.assert_allclose(f(X), 2 * X**3, rtol=1e-5)
