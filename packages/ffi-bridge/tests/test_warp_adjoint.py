"""Adjoints of Warp kernels that read views of arrays and overwrite what was there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp

from ffi_bridge import warp_kernel

EIGHT = jax.ShapeDtypeStruct((8,), jnp.float32)
M = jnp.arange(16.0).reshape(8, 2)


@wp.kernel
def products_of_rows(m: wp.array2d(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    row = m[i]
    out[i] = row[0] * row[1]


def test_a_view_has_the_adjoint_of_its_array():
    f = warp_kernel(products_of_rows, EIGHT, differentiable=True)
    np.testing.assert_array_equal(jax.grad(lambda m: f(m).sum())(M), M[:, ::-1])


def test_without_jit():
    f = warp_kernel(products_of_rows, EIGHT, differentiable=True)
    with jax.disable_jit():
        np.testing.assert_array_equal(jax.vmap(f)(M[None]), (M[:, 0] * M[:, 1])[None])
        np.testing.assert_array_equal(jax.grad(lambda m: f(m).sum())(M), M[:, ::-1])


def test_what_is_overwritten_had_no_part_in_the_result():
    f = warp_kernel(products_of_rows, EIGHT, in_out_argnames=["out"], differentiable=True)
    of_m, of_out = jax.grad(lambda m, out: f(m, out).sum(), (0, 1))(M, jnp.ones(8))
    np.testing.assert_array_equal(of_m, M[:, ::-1])
    assert not of_out.any()
