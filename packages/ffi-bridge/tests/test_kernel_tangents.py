"""Tangents of integers and of several outputs, and which backend computes the primal."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import ad
from small_operators import random

from ffi_bridge.operators.kernel import XLACustomKernel


def mixed(name: str, declared: bool) -> XLACustomKernel:
    """(x, shift) -> {"count": int(shift + 1), "sum": x + shift, "product": x * shift}."""
    operator = XLACustomKernel(name)

    @operator.def_reference
    def build(outs: Any) -> Any:
        return lambda x, shift: {
            "count": shift + 1,
            "sum": x + shift.astype(x.dtype),
            "product": x * shift.astype(x.dtype),
        }

    if declared:

        def rule(primals: Any, tangents: Any, **params: Any) -> Any:
            (x, shift), (dx, dshift) = primals, tangents
            assert isinstance(dshift, ad.Zero)
            outs = operator(x, shift, **params)
            return outs, {"count": None, "sum": dx, "product": dx * shift.astype(dx.dtype)}

        operator.def_jvp_rule(rule)
    return operator


@pytest.mark.parametrize("declared", [True, False], ids=["rule", "reference"])
@pytest.mark.parametrize("batched", [False, True], ids=["single", "vmap"])
def test_integers_have_no_tangents(request: Any, declared: bool, batched: bool) -> None:
    operator = mixed(request.node.name, declared)
    like = jax.ShapeDtypeStruct((3,), jnp.float32)
    outs = {"count": jax.ShapeDtypeStruct((3,), jnp.int32), "sum": like, "product": like}
    x, shift = random(2, 3), jnp.arange(3, dtype=jnp.int32)

    def loss(x: Any) -> Any:
        result = operator(x, shift, outs=outs)
        return (result["product"] ** 2).sum() + result["sum"].sum(), result["count"]

    def exact(x: Any) -> Any:
        s = shift.astype(jnp.float32)
        return ((x * s) ** 2).sum() + (x + s).sum(), shift + 1

    grad, wanted = (jax.grad(f, has_aux=True) for f in (loss, exact))
    given, truth = (jax.vmap(grad)(x), jax.vmap(wanted)(x)) if batched else (grad(x[0]), wanted(x[0]))
    for a, b in zip(given, truth, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_zero_cotangent_among_several_outputs_arrives_as_zeros(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x: (2 * x, 3 * x))
    operator.def_jvp_rule2(lambda t, x, **params: operator(t, **params))
    operator.def_transpose_rule(lambda cts, x, **_: [2 * cts[0] + 3 * cts[1]])
    outs = (jax.ShapeDtypeStruct((3,), jnp.float32),) * 2
    x = random(3)
    np.testing.assert_allclose(jax.grad(lambda x: operator(x, outs=outs)[1].sum())(x), 3)
    batched = jax.vmap(jax.grad(lambda x: operator(x, outs=outs)[0].sum()))(random(2, 3))
    np.testing.assert_allclose(batched, 2)


def test_without_rule_the_primal_runs_on_the_chosen_backend(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x: x**2)
    operator.def_kernel("fast", "cpu", lambda **_: lambda x: x**2 + 100, asdefault=True)
    like = jax.ShapeDtypeStruct((), jnp.float32)
    value, slope = jax.value_and_grad(lambda x: operator(x, outs=like))(jnp.float32(3))
    assert (value, slope) == (109, 6)


def test_without_rule_or_reference_tangents_are_those_of_the_chosen_backend(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_kernel("slow", "cpu", lambda **_: lambda x: 3 * x)
    operator.def_kernel("fast", "cpu", lambda **_: lambda x: x**2, asdefault=True)
    like = jax.ShapeDtypeStruct((), jnp.float32)

    def slope(backend: str | None) -> Any:
        return jax.grad(lambda x: operator(x, outs=like, backend=backend))

    x = jnp.float32(3)
    assert (slope(None)(x), slope("slow")(x), jax.grad(slope("fast"))(x)) == (6, 3, 2)
    np.testing.assert_array_equal(jax.vmap(jax.jit(slope(None)))(jnp.arange(3.0)), [0, 2, 4])


def test_the_unused_primal_of_the_reference_is_dropped(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x: jnp.cbrt(x) * 0 + 3 * x)
    operator.def_kernel("fast", "cpu", lambda **_: lambda x: 3 * x, asdefault=True)
    like = jax.ShapeDtypeStruct((), jnp.float32)
    step = jax.jit(lambda x: jax.jvp(lambda x: operator(x, outs=like), (x,), (x,))[0])
    assert "cbrt" not in step.lower(jnp.float32(1)).compile().as_text()
