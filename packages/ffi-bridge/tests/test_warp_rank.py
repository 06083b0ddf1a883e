"""Launches of Warp kernels have as many dimensions as `wp.tid()` is unpacked into."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp", reason="Warp is not installed")

import warp as wp

from ffi_bridge import warp_callable, warp_kernel
from ffi_bridge.errors import KernelDefinitionError

F = jnp.arange(3 * 2 * 4 * 5, dtype=jnp.float32).reshape(3, 2, 4, 5)
M = F[0, 0]


@wp.kernel
def streamed(f: wp.array4d(dtype=float), out: wp.array4d(dtype=float)):
    i, j, k = wp.tid()
    for q in range(f.shape[0]):
        out[q, i, j, k] = 2.0 * f[q, i, j, k]


@wp.kernel
def of_rows(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    for j in range(x.shape[1]):
        wp.atomic_add(out, i, j, x[i, j])


@wp.kernel
def of_both(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = x[i, j]


@wp.kernel
def of_vectors(x: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec2)):
    i, j = wp.tid()
    out[i] = x[j]


@wp.kernel
def twice(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    k, j = wp.tid()
    out[i, j] = x[k, j]


@wp.kernel
def bare(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[wp.tid()] = x[wp.tid()]


@wp.kernel
def without(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    out[0, 0] = x[0, 0]


@wp.func
def total(x: wp.array(dtype=float), i: int):
    return wp.tile_sum(wp.tile_load(x, shape=4, offset=i * 4))


@wp.kernel
def of_tiles(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_atomic_add(out, total(x, i), offset=0)


def like(x):
    return x


def refused(kernel, x, match, outs=like, **options):
    with pytest.raises(KernelDefinitionError, match=match):
        warp_kernel(kernel, outs, **options)(x)


def test_fewer_names_than_axes_of_the_first_output():
    refused(
        streamed,
        F,
        r"'streamed' unpacks wp\.tid\(\) into 3 names, and is launched over \(3, 2, 4, 5\), the shape of its "
        r"first output: each index would come up 5 times; .* such as \(2, 4, 5\), the last of these, "
        r"\(3, 2, 4\), the first, or \(3, 2, 20\), for all",
    )
    f = warp_kernel(streamed, like, launch_dims=lambda f: f.shape[1:], differentiable=True)
    np.testing.assert_array_equal(f(F), 2 * F)
    np.testing.assert_array_equal(jax.vmap(f)(jnp.stack([F, -F])), jnp.stack([2 * F, -2 * F]))
    np.testing.assert_array_equal(jax.grad(lambda x: f(x).sum())(F), 2 * jnp.ones_like(F))
    np.testing.assert_array_equal(warp_kernel(streamed, like)(F, launch_dims=(2, 4, 5)), 2 * F)


def test_a_sum_over_rows_is_not_made_once_for_each_column():
    refused(
        of_rows, M, r"into 1 name, .*\(4, 5\).* each index would come up 5 times; .*1 extent, such as \(5,\)"
    )
    add = warp_kernel(
        of_rows, lambda x, out: out, launch_dims=lambda x, out: x.shape[0], in_out_argnames=["out"]
    )
    np.testing.assert_array_equal(add(M, jnp.ones_like(M)), M + 1)


@pytest.mark.parametrize(
    ("kernel", "x", "dims"),
    [
        (streamed, F, (3, 2, 4, 5)),
        (streamed, F, (2, 4)),
        (of_rows, M, (4, 5)),
        (of_both, M, 4),
        (of_both, M, (1, 4, 5)),
        (twice, M, 4),
        (bare, M[0], (5, 1)),
    ],
)
def test_launches_that_are_given(kernel, x, dims):
    refused(kernel, x, r"unpacks wp\.tid\(\) into .* give launch_dims with", launch_dims=dims)
    refused(kernel, x, r"unpacks wp\.tid\(\) into", launch_dims=lambda x: dims)
    with pytest.raises(KernelDefinitionError, match=r"unpacks wp\.tid"):
        warp_kernel(kernel, like)(x, launch_dims=dims)


def test_coordinates_that_a_launch_lacks():
    refused(of_both, M, r"over \(4,\): the last 1 would always be 0; give .* 2 extents", launch_dims=4)
    # Elements that are vectors take the last axis.
    refused(of_vectors, M[:, :2], r"over \(4,\), the shape of its first output: the last 1 would")


@pytest.mark.parametrize(("kernel", "x"), [(of_both, M), (twice, M), (bare, M[0]), (without, M)])
def test_what_fits_is_launched(kernel, x):
    f = warp_kernel(kernel, like)
    assert float(f(x).reshape(-1)[0]) == float(x.reshape(-1)[0])
    for method in ("expand_dims", "broadcast_all"):
        batch = jax.vmap(warp_kernel(kernel, like, vmap_method=method))(jnp.stack([x, x]))
        assert batch.shape == (2, *x.shape)


def test_tiles_may_have_the_threads_of_a_block_as_a_dimension_more():
    x, one = jnp.arange(8, dtype=jnp.float32), jax.ShapeDtypeStruct((1,), jnp.float32)
    add = warp_kernel(of_tiles, one, in_out_argnames=["out"], launch_dims=(2, 64), block_dim=64)
    # Blocks on the CPU have one thread, and each tile is added once.
    np.testing.assert_array_equal(add(x, jnp.zeros(1)), [28])
    refused(of_tiles, x, "each index would come up 32 times", one, launch_dims=(2, 32), block_dim=64)


def test_launches_by_warp_itself_are_those_of_warp():
    def launched(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
        out.zero_()
        wp.launch(of_rows, dim=(4, 2), inputs=[x], outputs=[out])

    np.testing.assert_array_equal(warp_callable(launched, like)(M), 2 * M)
