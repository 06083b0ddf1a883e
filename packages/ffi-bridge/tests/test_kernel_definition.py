"""Definitions of backends and rules: what does not fit is refused, and the error says what would."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge.errors import KernelTypeError, MissingRuleError, RuleError, UnknownBackendError
from ffi_bridge.operators.kernel import XLACustomKernel

X = jnp.arange(3.0)
OUT = jax.ShapeDtypeStruct((3,), jnp.float32)


@pytest.mark.parametrize("builder", [3, "no_colon", "module:", ":function"])
def test_a_generator_is_a_function_or_names_one(operator: XLACustomKernel, builder: Any) -> None:
    with pytest.raises(KernelTypeError, match=r"package\.module:function"):
        operator.def_kernel("b", "cpu", builder)


def test_a_generator_that_returns_no_function_is_refused(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_kernel("b", "cpu", lambda **_: X)
    with pytest.raises(KernelTypeError, match="builder of backend 'b' returned"):
        operator(X, outs=OUT)


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        (lambda x: 2 * x, r"builder of backend 'b', .*\(x\), does not fit: .*'x'; .*keywords outs, tau"),
        (lambda *, outs: lambda x: 2 * x, "unexpected keyword argument 'tau'"),
        (
            lambda **_: lambda x, y: x + y,
            r"function of backend 'b', .*\(x, y\), .*'y'; the call has 1 inputs",
        ),
    ],
)
def test_functions_that_cannot_take_the_call_are_named(request: Any, builder: Any, message: str) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_kernel("b", "cpu", builder)
    with pytest.raises(KernelTypeError, match=message):
        operator(X, outs=OUT, tau=3)


def test_an_error_within_a_function_that_fits_is_its_own(request: Any) -> None:
    def function(x: Any) -> Any:
        raise TypeError("not today")

    operator = XLACustomKernel(request.node.name)
    operator.def_kernel("b", "cpu", lambda **_: function)
    with pytest.raises(TypeError, match="not today") as caught:
        operator(X, outs=OUT)
    assert not isinstance(caught.value, KernelTypeError)


def test_an_error_of_a_builder_says_whose_it_is_and_what_else_there_is(request: Any) -> None:
    def builder(**_: Any) -> Any:
        raise RuntimeError("no such device")

    operator = XLACustomKernel(request.node.name)
    operator.def_kernel("b", "cpu", builder)
    operator.def_reference(lambda **_: lambda x: x)
    with pytest.raises(RuntimeError, match="no such device") as caught:
        operator(X, outs=OUT, backend="b")
    start = f"Raised as operator {operator.name!r} had its backend 'b' built for cpu; there are: cpu: b, ref"
    assert any(note.startswith(start) for note in caught.value.__notes__)


@pytest.mark.parametrize("platform", ["metal", "CPU", None])
def test_unknown_platforms_list_what_exists(operator: XLACustomKernel, platform: Any) -> None:
    actions = [
        lambda: operator.def_kernel("b", platform, lambda **_: None),
        lambda: operator.set_default(platform, "reference"),
        lambda: operator.available_backends(platform),
    ]
    for action in actions:
        with pytest.raises(UnknownBackendError, match="cpu, gpu, tpu"):
            action()


@pytest.mark.parametrize(
    ("declare", "expected"),
    [
        (lambda k: k.def_jvp_rule(lambda primals, **_: 0), "primals, tangents"),
        (lambda k: k.def_jvp_rule(lambda p, t, extra, **_: 0), "primals, tangents"),
        (lambda k: k.def_jvp_rule(lambda p, t: 0), "params"),
        (lambda k: k.def_jvp_rule(3), "expected a function"),
        (lambda k: k.def_jvp_rule2(lambda t, x, y, **_: 0), "rule 0 of 1"),
        (lambda k: k.def_jvp_rule2(None, lambda t, x, **_: 0), "rule 1 of 2"),
        (lambda k: k.def_transpose_rule(lambda **_: 0), "cotangents"),
        (lambda k: k.def_transpose_rule(lambda ct, x: 0), "params"),
        (lambda k: k.def_batching_rule(lambda args, **_: 0), "args, axes"),
    ],
)
def test_arity_of_rules_is_checked_at_definition(
    operator: XLACustomKernel, declare: Any, expected: str
) -> None:
    with pytest.raises(RuleError, match=expected):
        declare(operator)


def test_rules_may_name_their_keywords(operator: XLACustomKernel) -> None:
    def rule(tangent: Any, x: Any, *, outs: Any, backend: Any, factor: float) -> Any:
        return operator(tangent, outs=outs, backend=backend, factor=factor)

    operator.def_jvp_rule2(rule)
    _, tangent = jax.jvp(lambda x: operator(x, outs=OUT, factor=3.0), (X,), (X,))
    np.testing.assert_array_equal(tangent, 3 * X)


def test_rules_fewer_than_inputs_are_refused_with_the_numbers(operator: XLACustomKernel) -> None:
    operator.def_jvp_rule2(lambda t, x, **_: t)
    with pytest.raises(RuleError, match="2 inputs, and def_jvp_rule2 was given 1"):
        jax.jvp(lambda x: operator(x, x, outs=OUT), (X,), (X,))


def test_differentiation_without_rule_or_reference_names_the_operator(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_kernel("called", "cpu", lambda *, outs: lambda x: jax.pure_callback(np.negative, outs, x))
    said = f"do not support JVP(?s:.*)'{re.escape(operator.name)}'.* its backend 'called'.*def_reference"
    with pytest.raises(ValueError, match=said):
        jax.grad(lambda x: operator(x, outs=OUT).sum())(X)


def test_reverse_mode_without_transpose_names_the_operator(operator: XLACustomKernel) -> None:
    operator.def_jvp_rule2(lambda t, x, **params: operator(t, **params))
    with pytest.raises(MissingRuleError, match=re.escape(operator.name) + ".*def_transpose_rule"):
        jax.grad(lambda x: operator(x, outs=OUT).sum())(X)


@pytest.mark.parametrize(
    ("tangent", "message"),
    [
        (jnp.ones(4), r"float32\[4\] as tangent of output 0; expected float32\[3\]"),
        (jnp.ones(3, jnp.int32), r"int32\[3\] as tangent of output 0"),
        ((X, X), "returned 2 tangents for 1"),
    ],
    ids=["shape", "dtype", "count"],
)
def test_tangents_that_do_not_fit_are_refused(operator: XLACustomKernel, tangent: Any, message: str) -> None:
    operator.def_jvp_rule2(lambda t, x, **_: tangent)
    with pytest.raises(RuleError, match=message):
        jax.jvp(lambda x: operator(x, outs=OUT), (X,), (X,))


def test_a_tangent_for_an_integer_output_is_refused(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x: x > 0)
    operator.def_jvp_rule2(lambda t, x, **_: t)
    spikes = jax.ShapeDtypeStruct((3,), jnp.bool_)
    with pytest.raises(RuleError, match=r"output 0, which is bool\[3\] and has none"):
        jax.jvp(lambda x: operator(x, outs=spikes), (X,), (X,))


def test_a_cotangent_for_an_input_that_is_not_transposed_is_refused(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)  # linear in x and y together
    operator.def_reference(lambda **_: lambda x, y: x + y)
    both = [lambda t, x, y, **params: operator(t, jnp.zeros_like(y), **params)] * 2
    operator.def_jvp_rule2(*both)
    operator.def_transpose_rule(lambda ct, x, y, **_: [ct, ct])
    message = r"returned \[float32\[3\], float32\[3\]\]; expected \[float32\[3\], None\].*is_undefined_primal"
    with pytest.raises(RuleError, match=message):
        jax.grad(lambda x: operator(x, X, outs=OUT).sum())(X)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([jnp.ones(4)], r"returned \[float32\[4\]\]; expected \[float32\[3\]\]"),
        ([jnp.ones(3, jnp.int32)], r"returned \[int32\[3\]\]; expected \[float32\[3\]\]"),
        (X, "returned ArrayImpl; expected a list"),
    ],
    ids=["shape", "dtype", "array"],
)
def test_cotangents_that_do_not_fit_are_refused(
    operator: XLACustomKernel, returned: Any, message: str
) -> None:
    operator.def_jvp_rule2(lambda t, x, **params: operator(t, **params))
    operator.def_transpose_rule(lambda ct, x, **_: returned)
    with pytest.raises(RuleError, match=message):
        jax.grad(lambda x: operator(x, outs=OUT).sum())(X)


def test_a_jvp_rule_without_a_pair_is_refused(operator: XLACustomKernel) -> None:
    operator.def_jvp_rule(lambda primals, tangents, **_: primals[0])
    with pytest.raises(RuleError, match=re.escape(operator.name) + ".* expected a pair"):
        jax.jvp(lambda x: operator(x, outs=OUT), (X,), (X,))
