"""Batching: a declared rule, and the general one."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_operators import random

from ffi_bridge.errors import RuleError
from ffi_bridge.operators.kernel import XLACustomKernel


def test_a_declared_batching_rule_runs_in_place_of_the_general_one(request: Any) -> None:
    seen: list[Any] = []
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x: 2 * x)
    like = jax.ShapeDtypeStruct((3,), jnp.float32)

    @operator.def_batching_rule
    def rule(args: Any, axes: Any, **params: Any) -> Any:
        seen.append((axes, params["outs"], params["backend"]))
        x = jnp.moveaxis(args[0], axes[0], 1)
        batched = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return operator(x, outs=batched), 1

    x = random(3, 5)
    np.testing.assert_array_equal(jax.vmap(lambda x: operator(x, outs=like), 1, 1)(x), 2 * x)
    assert seen == [((1,), like, None)]
    operator.register_general_batching()
    np.testing.assert_array_equal(jax.vmap(lambda x: operator(x, outs=like), 1, 1)(x), 2 * x)
    assert len(seen) == 1


def test_general_batching_is_one_call_of_the_batched_backend(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x, y: x + y)
    like = jax.ShapeDtypeStruct((3,), jnp.float32)
    jaxpr = jax.make_jaxpr(jax.vmap(jax.vmap(lambda x, y: operator(x, y, outs=like), (0, None)), (None, 0)))(
        random(2, 3), random(4, 3)
    )
    equations = [e for e in jaxpr.jaxpr.eqns if e.primitive.name == operator.name]
    assert [tuple(e.params["batch"]) for e in equations] == [((4, (False, True)), (2, (True, False)))]
    assert jaxpr.out_avals[0].shape == (4, 2, 3)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned NoneType; expected a pair"),
        (
            (jnp.ones((5, 3)), 0),
            r"float32\[5, 3\] as output 0 with axis 0; expected float32\[2, 3\]",
        ),
        ((jnp.ones((2, 3)), None), r"with axis None; expected float32\[3\]"),
        ((jnp.ones((2, 3), "int32"), 0), r"returned int32\[2, 3\]"),
        ((jnp.ones((2, 3)), 2), "gave axis 2 for output 0; expected None, or 0 to 1"),
        (([jnp.ones((2, 3))] * 2, 0), "returned 2 outputs and 2 axes; expected 1"),
    ],
)
def test_a_batching_rule_that_does_not_fit_is_refused(request: Any, result: Any, message: str) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x: 2 * x)
    operator.def_batching_rule(lambda args, axes, **_: result)
    like = jax.ShapeDtypeStruct((3,), jnp.float32)
    with pytest.raises(RuleError, match=message):
        jax.vmap(lambda x: operator(x, outs=like))(random(2, 3))
