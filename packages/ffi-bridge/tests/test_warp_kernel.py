"""warp_kernel on the CPU: values, transforms, adjoints, errors."""

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
warp_kernel = pytest.importorskip("ffi_bridge.warp.kernel", reason="warp-lang is not installed").warp_kernel


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> None:
    wp.config.quiet = True


@wp.kernel
def product(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = x[i] * y[i]


@wp.kernel(enable_backward=False)
def every_kind(
    x: wp.array(dtype=wp.vec3),
    m: wp.array2d(dtype=wp.float32),
    a: wp.float32,
    k: wp.int8,
    on: bool,
    d: wp.float64,
    v: wp.vec2,
    out: wp.array2d(dtype=wp.float32),
):
    i, j = wp.tid()
    if on:
        out[i, j] = m[i, j] * a + x[i][1] * wp.float32(k) + wp.float32(d) * v[1]


@wp.kernel
def add_squares(ids: wp.array(dtype=wp.int32), u: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    wp.atomic_add(y, ids[i], u[i] * u[i])


@wp.kernel(enable_backward=False)
def scaled(x: wp.array(dtype=Any), factor: Any, out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = x[i] * out.dtype(factor)


@wp.kernel(enable_backward=False)
def counted(start: wp.int32, low: wp.array(dtype=wp.int32), high: wp.array(dtype=wp.int32)):
    i = wp.tid()
    low[i] = start + i
    high[i] = start - i


@wp.kernel(enable_backward=False, module="unique")  # it would break the others of its module
def broken(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    out[wp.tid()] = x[0] + no_such_name  # noqa: F821


EIGHT = jax.ShapeDtypeStruct((8,), jnp.float32)
X = jnp.arange(8, dtype=jnp.float32)
IDS = jnp.array([0, 1, 1, 3, 3, 3])
U = jnp.arange(6, dtype=jnp.float32)
FOUR = jax.ShapeDtypeStruct((4,), jnp.float32)


def add_squares_to(y, u, **options):
    accumulate = warp_kernel(add_squares, FOUR, in_out_argnames=["y"], launch_dims=6, **options)
    return accumulate(IDS, u, y)


def test_arrays_vectors_matrices_and_static_values():
    rng = np.random.default_rng(0)
    x, m = rng.random((5, 3), np.float32), rng.random((5, 7), np.float32)
    f = warp_kernel(every_kind, jax.ShapeDtypeStruct((5, 7), jnp.float32))
    expected = m * 2.5 - 3 * x[:, 1:2] + 0.25 * 2
    for run in (f, jax.jit(lambda x, m: f(x, m, 2.5, -3, True, 0.25, (1.0, 2.0)))):
        given = () if run is not f else (2.5, -3, True, 0.25, (1.0, 2.0))
        np.testing.assert_allclose(run(x, m, *given), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint8"])
def test_generic_parameters_take_the_types_of_the_call(dtype):
    if dtype == "bfloat16" and not hasattr(wp, "bfloat16"):
        pytest.skip("this Warp has no bfloat16")
    with jax.enable_x64(True):
        y = warp_kernel(scaled, jax.ShapeDtypeStruct((4,), dtype))(jnp.arange(4).astype(dtype), 3)
    assert y.dtype == dtype
    assert y.tolist() == [0, 3, 6, 9]


def test_a_0d_array_is_one_of_shape_1_and_an_empty_launch_does_nothing():
    assert warp_kernel(scaled, jax.ShapeDtypeStruct((), jnp.float32))(jnp.float32(2), 3) == 6
    assert warp_kernel(scaled, jax.ShapeDtypeStruct((0,), jnp.float32))(jnp.zeros(0), 3).shape == (0,)


def test_outs_give_the_result_its_structure_and_launch_dims_its_extent():
    out = jax.ShapeDtypeStruct((3,), jnp.int32)
    result = warp_kernel(counted, {"high": out, "low": out}, launch_dims=(3,))(5)
    # A dict's leaves are sorted by key.
    assert {name: x.tolist() for name, x in result.items()} == {"high": [5, 6, 7], "low": [5, 4, 3]}


GAIN = wp.constant(2.0)


@wp.func
def amplified(v: float) -> float:
    return v * GAIN


@wp.kernel
def of_a_callee(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = amplified(x[i])


@wp.kernel
def of_a_generic_one(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = amplified(x[i])


@pytest.mark.parametrize("kernel", [of_a_callee, of_a_generic_one])
def test_a_changed_constant(kernel, monkeypatch):
    for value in (2.0, 50.0, 2.0):
        monkeypatch.setitem(globals(), "GAIN", wp.constant(value))
        call = warp_kernel(kernel, jax.ShapeDtypeStruct((2,), jnp.float32), launch_dims=2)
        assert call(jnp.ones(2)).tolist() == [value, value]


def test_an_in_out_array_accumulates_and_the_one_given_stays():
    y = jnp.ones(4)
    assert add_squares_to(y, U).tolist() == [1, 6, 1, 51]
    assert y.tolist() == [1, 1, 1, 1]
    twice = jax.jit(lambda y: jax.lax.fori_loop(0, 2, lambda _, y: add_squares_to(y, U), y))
    assert twice(y).tolist() == [1, 11, 1, 101]


def test_vmap_nested_and_over_some_arguments():
    f = warp_kernel(product, EIGHT)
    a, b = jnp.arange(48.0).reshape(2, 3, 8), jnp.arange(24.0).reshape(3, 8)
    np.testing.assert_array_equal(jax.vmap(jax.vmap(f), (0, None))(a, b), a * b[None])
    np.testing.assert_array_equal(
        jax.vmap(jax.vmap(f, (0, None)), (1, 0))(a, b), a.swapaxes(0, 1) * b[:, None]
    )
    for method in ("sequential", "sequential_unrolled"):
        by_element = warp_kernel(product, EIGHT, vmap_method=method)
        np.testing.assert_array_equal(jax.vmap(by_element, (0, None))(b, X), b * X[None])
    # An aliased input without a batch axis is copied for each element.
    np.testing.assert_array_equal(
        jax.vmap(add_squares_to, (None, 0))(jnp.zeros(4), jnp.stack([U, 2 * U])),
        [[0, 5, 0, 50], [0, 20, 0, 200]],
    )


def test_the_adjoint_is_the_vjp():
    f = warp_kernel(product, EIGHT, differentiable=True)

    def loss(f):
        return lambda x, y: jnp.sum(jnp.sin(f(x, y)))

    for x, y in ((X, X + 1), (X, X)):
        expected = jax.grad(loss(jnp.multiply), (0, 1))(x, y)
        np.testing.assert_allclose(jax.grad(loss(f), (0, 1))(x, y), expected, rtol=1e-6)
    batch = jnp.stack([X, 2 * X])
    np.testing.assert_allclose(
        jax.jit(jax.vmap(jax.grad(loss(f)), (0, None)))(batch, X),
        jax.vmap(jax.grad(loss(jnp.multiply)), (0, None))(batch, X),
        rtol=1e-6,
    )


def test_the_adjoint_of_an_accumulation():
    def loss(y, u):
        return jnp.sum(add_squares_to(y, u, differentiable=True) ** 2)

    def expected(y, u):
        return jnp.sum(y.at[IDS].add(u * u) ** 2)

    found = jax.grad(loss, (0, 1))(jnp.ones(4), U)
    for a, b in zip(found, jax.grad(expected, (0, 1))(jnp.ones(4), U), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_calls_from_several_threads():
    f = jax.jit(
        lambda x: jax.lax.fori_loop(0, 200, lambda _, c: warp_kernel(product, EIGHT)(c, X / X.max()), x)
    )
    results: list[Any] = [None] * 4

    def run(i):
        results[i] = f(X + i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, f(X + i))


def test_one_kernel_wrapped_often_is_one_target():
    texts = {jax.jit(lambda x: warp_kernel(product, EIGHT)(x, x)).lower(X).as_text() for _ in range(3)}
    assert len(texts) == 1
    assert "product.warp." in texts.pop()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: warp_kernel(product, EIGHT)(X), "takes 2 inputs .x, y., but the call has 1"),
        (lambda: warp_kernel(product, EIGHT)(X, IDS), "'y' is int32.*expected 1 dimension, of float32"),
        (lambda: warp_kernel(product, EIGHT)(X, X[None]), r"'y' is float32\(1, 8\); expected 1 dimension"),
        (lambda: jax.jit(warp_kernel(scaled, EIGHT))(X, 2.0), "'factor' is .*static.*static_argnames"),
        (lambda: warp_kernel(add_squares, FOUR, in_out_argnames=["y"])(IDS, U, X), "aliased"),
        (lambda: warp_kernel(broken, EIGHT)(X), "'broken' does not compile.*no_such_name"),
        (lambda: warp_kernel(counted, (EIGHT, EIGHT))(1), "'low' is float32"),
    ],
)  # fmt: skip
def test_calls_that_do_not_fit(call, match):
    with pytest.raises(KernelTypeError, match=match):
        call()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"in_out_argnames": ["z"]}, "an in-out name is an input"),
        ({"in_out_argnames": ["x", "x"]}, "an in-out name is an input"),
        ({"launch_dims": (1, 2, 3, 4, 5)}, "one to four integers"),
        ({"launch_dims": -1}, "integers >= 0"),
        ({"launch_dims": 2.5}, "integers"),
        ({"launch_dims": True}, "launch_dims=True; expected one to four integers"),
        *[
            ({"block_dim": given}, f"block_dim={given!r}; expected a number of threads >= 1")
            for given in (0, -4, 1.5, True, "128")
        ],
        ({"block_dim": 1025}, "a block of .1025, 1, 1. threads"),
        ({"vmap_method": "legacy"}, "Warp kernel; choose one of None, 'sequential'"),
        ({"vmap_method": "expand_dims", "differentiable": True}, "adjoint of what they share"),
    ],
)
def test_definitions_that_do_not_fit(options, match):
    with pytest.raises(KernelDefinitionError, match=match):
        warp_kernel(product, EIGHT, **options)


def test_what_is_no_kernel():
    with pytest.raises(TypeError, match=r"decorate the function with @warp\.kernel"):
        warp_kernel(len, EIGHT)


@wp.kernel(enable_backward=False)
def last_of(out: wp.array(dtype=wp.int32)):
    i, j = wp.tid()
    out[0] = i + j


def test_threads_that_wp_tid_cannot_count_are_refused():
    def call(size, *dims):
        return warp_kernel(last_of, jax.ShapeDtypeStruct((size,), jnp.int32), launch_dims=dims)()

    for dims in ((0, 2**31 + 1), (2**31 + 1, 0)):
        assert call(0, *dims).shape == (0,)  # of no threads there is none to count
    with pytest.raises(KernelTypeError, match=r"'last_of': launch dimensions .*wp\.tid.* up to 2147483648"):
        call(1, 2**31 + 1, 1)


def test_a_launch_without_threads_leaves_no_output_unwritten():
    with pytest.raises(KernelTypeError, match=r"a launch of \(0,\) has no threads, and output 'out'"):
        warp_kernel(product, EIGHT, launch_dims=0)(X, X)
    add = warp_kernel(add_squares, FOUR, in_out_argnames=["y"], launch_dims=0)
    np.testing.assert_array_equal(add(IDS, jnp.ones(6), jnp.arange(4.0)), np.arange(4))


def test_a_static_integer_beyond_its_type_is_refused():
    call = warp_kernel(counted, (jax.ShapeDtypeStruct((1,), jnp.int32),) * 2)
    assert [int(x[0]) for x in call(2**31 - 1)] == [2**31 - 1] * 2
    for number in (2**31, np.int64(-(2**31) - 1)):
        with pytest.raises(KernelTypeError, match=rf"'start' is int32, and the call gives it {number}; expe"):
            call(number)


def test_what_has_no_derivative():
    with pytest.raises(MissingRuleError, match="differentiable=True"):
        jax.jvp(lambda x: warp_kernel(product, EIGHT)(x, x), (X,), (X,))
    f = warp_kernel(scaled, EIGHT, differentiable=True)
    with pytest.raises(KernelDefinitionError, match="enable_backward"):
        jax.grad(lambda x: f(x, 2.0).sum())(X)
