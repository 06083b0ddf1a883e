"""Operators under jax.shard_map, on the 8 devices that test_kernel_shard_map.py starts it with."""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from ffi_bridge.errors import ShardedInputError
from ffi_bridge.native.tracing import ORDERED_ON_SEVERAL
from ffi_bridge.operators.kernel import XLACustomKernel

N = 16
Y = jnp.asarray([2.0, 0.5])


def reference(outs: Any) -> Callable[..., Any]:
    return lambda x, y: x * y


def callback(outs: Any) -> Callable[..., Any]:
    def host(x: Any, y: Any) -> Any:
        return np.asarray(x) * np.asarray(y)

    return lambda x, y: jax.pure_callback(host, outs, x, y, vmap_method="sequential")


def numba_cpu(outs: Any) -> Callable[..., Any]:
    numba = importlib.import_module("numba")
    numba_kernel = importlib.import_module("ffi_bridge.numba_cpu.kernel").numba_kernel

    @numba.njit
    def kernel(x: Any, y: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = x[i] * y[i]

    return numba_kernel(kernel, outs)


def define(name: str, builder: Any, declared: bool) -> XLACustomKernel:
    """x * y, differentiated by declared rules or through the reference."""
    operator = XLACustomKernel(name)
    operator.def_reference(reference)
    operator.def_kernel("tested", "cpu", builder, asdefault=True)
    if declared:
        operator.def_jvp_rule2(
            lambda t, x, y, **params: operator(t, y, **params),
            lambda t, x, y, **params: operator(x, t, **params),
        )

        @operator.def_transpose_rule
        def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
            if jax.interpreters.ad.is_undefined_primal(x):
                return [operator(ct, y, **params), None]
            return [None, operator(x, ct, **params)]

    return operator


@pytest.fixture(
    params=[
        pytest.param(
            (builder, declared),
            id=f"{builder.__name__}-{'rules' if declared else 'reference'}",
            marks=[pytest.mark.slow] if builder is callback or (builder is reference and declared) else [],
        )
        for builder in (reference, callback, numba_cpu)
        for declared in (True, False)
    ]
)
def operator(request: pytest.FixtureRequest) -> XLACustomKernel:
    builder, declared = request.param
    if builder is numba_cpu and importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed")
    return define(request.node.name, builder, declared)


@pytest.fixture(params=[AxisType.Explicit, AxisType.Auto], ids=["explicit", "auto"])
def mesh(request: pytest.FixtureRequest) -> Any:
    mesh = jax.make_mesh((8,), ("i",), axis_types=(request.param,))
    with jax.set_mesh(mesh):
        yield mesh


def sharded(mesh: Any, x: jax.Array) -> jax.Array:
    return jax.device_put(x, NamedSharding(mesh, P("i")))


def three_steps(operator: XLACustomKernel) -> Callable[..., Any]:
    """On each device: x <- x * y three times in a scan; x varies over the devices, y does not."""

    def body(x: Any, y: Any) -> Any:
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.lax.scan(lambda c, _: (operator(c, y, outs=like), None), x, None, length=3)[0]

    return body


def exact(x: Any, y: Any) -> Any:
    return x * jnp.tile(y**3, 8)


@pytest.mark.parametrize(
    "check_vma", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["vma", "no vma"]
)
@pytest.mark.parametrize("jitted", [True, False], ids=["jit", "eager"])
def test_values_and_gradients_in_scan(
    operator: XLACustomKernel, mesh: Any, check_vma: bool, jitted: bool
) -> None:
    mapped = jax.shard_map(
        three_steps(operator),
        mesh=mesh,
        in_specs=(P("i"), P()),
        out_specs=P("i"),
        check_vma=check_vma,
    )
    maybe_jit = jax.jit if jitted else (lambda f: f)
    x = sharded(mesh, jnp.arange(N, dtype=jnp.float32))
    result = maybe_jit(mapped)(x, Y)
    np.testing.assert_allclose(result, exact(x, Y), rtol=1e-6)
    assert result.sharding.spec == P("i")
    given = maybe_jit(jax.grad(lambda x, y: (mapped(x, y) ** 2).sum(), (0, 1)))(x, Y)
    host = np.asarray(x)
    np.testing.assert_allclose(given[0], 2 * host * np.tile(np.asarray(Y) ** 6, 8), rtol=1e-5)
    slope = 6 * (host.reshape(8, 2) ** 2).sum(0) * np.asarray(Y) ** 5
    np.testing.assert_allclose(given[1], slope, rtol=1e-5)


def test_an_output_varies_over_the_axes_that_any_input_varies_over(
    operator: XLACustomKernel, mesh: Any
) -> None:
    seen: list[Any] = []

    def body(x: Any, y: Any) -> Any:
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        mixed, same = operator(x, y, outs=like), operator(y, y, outs=like)
        seen.extend(jax.typeof(out).manual_axis_type.varying for out in (mixed, same))
        return mixed + same

    x = sharded(mesh, jnp.arange(N, dtype=jnp.float32))
    result = jax.shard_map(body, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))(x, Y)
    np.testing.assert_allclose(result, x * jnp.tile(Y, 8) + jnp.tile(Y * Y, 8), rtol=1e-6)
    assert seen[:2] == [{"i"}, set()]


def test_vmap_of_gradients_outside_and_inside(operator: XLACustomKernel, mesh: Any) -> None:
    body = three_steps(operator)
    specs = {"mesh": mesh, "in_specs": (P("i"), P()), "out_specs": P("i")}
    inside = jax.shard_map(
        lambda x, y: jax.vmap(body, (None, 0), 1)(x, y), **specs | {"out_specs": P("i", None)}
    )
    x = sharded(mesh, jnp.arange(N, dtype=jnp.float32))
    ys = jnp.stack([Y, 2 * Y, 3 * Y])
    np.testing.assert_allclose(
        jax.jit(inside)(x, ys), jax.vmap(exact, (None, 0), 1)(np.asarray(x), ys), rtol=1e-6
    )
    outside = jax.vmap(jax.grad(lambda x, y: jax.shard_map(body, **specs)(x, y).sum()), (None, 0))
    np.testing.assert_allclose(jax.jit(outside)(x, ys), jnp.tile(ys**3, 8), rtol=1e-6)


def test_explicitly_split_inputs_are_refused_outside_shard_map() -> None:
    operator = define("refuses_split", reference, True)
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Explicit,))
    like = jax.ShapeDtypeStruct((N,), jnp.float32)
    with jax.set_mesh(mesh):
        x = sharded(mesh, jnp.ones(N))
        for transform in (lambda f: f, jax.jit):
            call = transform(lambda x: operator(x, x, outs=like))
            with pytest.raises(ShardedInputError, match=r"input 0 is float32\[16@i\].*shard_map"):
                call(x)
        whole = jax.sharding.reshard(x, P(None))
        np.testing.assert_array_equal(operator(whole, whole, outs=like), np.ones(N))


@pytest.fixture(params=["ordered", "has_side_effect"])
def put(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A kernel that writes its number to a file, after a while if the number is even."""
    pytest.importorskip("numba", reason="numba is not installed")
    kernel, numba_kernel = (
        getattr(importlib.import_module(module), name)
        for module, name in (("written", "put"), ("ffi_bridge", "numba_kernel"))
    )
    return numba_kernel(kernel, lambda number, x: x, scalar_argnames="number", **{request.param: True})


OLD = jax.__version_info__ < ORDERED_ON_SEVERAL


@pytest.mark.skipif(OLD, reason="this jax cannot have ordered calls on several devices")
@pytest.mark.parametrize("put", ["ordered"], indirect=True)
def test_each_device_has_its_own_order(put: Callable[..., Any], mesh: Any) -> None:
    written = importlib.import_module("written").written

    def body(first: Any, x: Any) -> Any:
        first = first.reshape(())
        outs = [put(first + i, jnp.sin(x + i)) for i in range(9)]
        later = jnp.arange(9, 12)
        return sum(outs), jax.lax.scan(lambda c, i: (put(first + i, c), None), x, later)[0]

    program = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
    args = sharded(mesh, jnp.arange(8) * 100), sharded(mesh, jnp.ones(400_000))
    found = written(lambda: (program(*args), program(*args)))
    for device in range(8):
        own = [number % 100 for number in found if number // 100 == device]
        assert own == 2 * list(range(12))


@pytest.mark.skipif(not OLD, reason="this jax can have ordered calls on several devices")
@pytest.mark.parametrize("put", ["ordered"], indirect=True)
def test_an_old_jax_is_told_of(put: Callable[..., Any], mesh: Any) -> None:
    mapped = jax.shard_map(lambda x: put(0, x), mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    with pytest.raises(ShardedInputError, match=r"is ordered, and its program runs on 8 .* jax 0\.11"):
        mapped(sharded(mesh, jnp.ones(N)))


def test_a_program_that_xla_splits_has_no_side_effects(put: Callable[..., Any], mesh: Any) -> None:
    x = jax.device_put(jnp.ones(N), NamedSharding(mesh, P()))
    with pytest.raises(ShardedInputError, match=r"kernel 'put' has side effects.*inside jax\.shard_map"):
        jax.jit(lambda x: put(0, x))(x)


def test_side_effects_need_all_axes_to_be_manual(put: Callable[..., Any]) -> None:
    mesh = jax.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Auto,) * 2)
    mapped = jax.shard_map(
        lambda x: put(0, x), mesh=mesh, in_specs=P("i"), out_specs=P("i"), axis_names={"i"}
    )
    with pytest.raises(ShardedInputError, match="over all axes of the mesh"):
        jax.jit(mapped)(jnp.ones(8))


def test_inputs_split_over_auto_axes_work_outside_shard_map() -> None:
    operator = define("takes_auto", reference, True)
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    like = jax.ShapeDtypeStruct((N,), jnp.float32)
    x = sharded(mesh, jnp.arange(N, dtype=jnp.float32))
    result = jax.jit(lambda x: operator(x, x, outs=like))(x)
    np.testing.assert_array_equal(result, np.arange(N) ** 2)


def test_two_axes_of_which_each_input_varies_over_one(operator: XLACustomKernel) -> None:
    mesh = jax.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Auto,) * 2)
    like = jax.ShapeDtypeStruct((2,), jnp.float32)

    def body(x: Any, y: Any) -> Any:
        out = operator(x, y, outs=like)
        assert jax.typeof(out).manual_axis_type.varying == {"i", "j"}
        return out[None, None]

    mapped = jax.shard_map(body, mesh=mesh, in_specs=(P("i"), P("j")), out_specs=P("i", "j"))
    x, y = jnp.arange(8.0), jnp.arange(4.0)
    wanted = np.arange(8.0).reshape(4, 1, 2) * np.arange(4.0).reshape(1, 2, 2)
    np.testing.assert_allclose(jax.jit(mapped)(x, y), wanted)
    slope = jax.jit(jax.grad(lambda y: mapped(x, y).sum()))(y)
    np.testing.assert_allclose(slope, np.tile([12.0, 16.0], 2))
