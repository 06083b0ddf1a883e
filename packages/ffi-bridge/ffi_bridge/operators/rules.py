"""Checks that all rules of an operator share: their arity, and the zeros they are given and return.

Inside this package a tangent or cotangent that is zero is None; declared rules see
`jax.interpreters.ad.Zero`. Reverse mode of an operator that is linear in an input is its transpose rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.interpreters import ad

from ffi_bridge.errors import MissingRuleError, RuleError
from ffi_bridge.native.tracing import Levels
from ffi_bridge.operators.backends import Backend, Backends
from ffi_bridge.operators.call import Call

Rule = Callable[..., Any]
Flat = list[Any]


class Operator(Protocol):
    """The part of an operator that its primitive and its rules need."""

    name: str
    reference: Backend | None
    rules: Rules

    @property
    def backends(self) -> Backends:
        """Return the registered backends."""
        ...

    def bind(self, call: Call, ins: Sequence[Any]) -> Flat:
        """Return the outputs of the backend that `call` runs on."""
        ...

    def chosen(self, device: str, call: Call, ins: Sequence[Any], outs: Sequence[Any]) -> Backend:
        """Return the backend that `call` runs on, under this JAX platform, with these shapes and dtypes."""
        ...


# Rule of one unbatched call: operator, call, primals, tangents -> outs and their tangents, flat.
JVP = Callable[[Operator, Call, Sequence[Any], Flat], tuple[Flat, Flat]]


@dataclass
class Rules:
    """The rules in force; None is the general one."""

    jvp: JVP | None = None
    transpose: Rule | None = None
    batching: Rule | None = None


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_GIVEN = ("outs", "backend")  # keywords that every rule gets, besides the call's static ones


def check_arity(owner: str, rule: Rule, positions: tuple[str, ...]) -> None:
    """Raise RuleError unless `rule(*positions, outs=, backend=, **static)` can be called."""
    expected = f"({', '.join(positions)}, **params)"
    try:
        signature = inspect.signature(rule)
    except (TypeError, ValueError):
        raise RuleError(f"{owner} got {rule!r}; expected a function {expected}") from None
    parameters = signature.parameters.values()
    placed = [p for p in parameters if p.kind in _BY_POSITION and p.name not in _GIVEN]
    required = [p for p in placed if p.default is p.empty]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    fixed = [name for name in positions if not name.startswith("*")]
    open_ended = len(fixed) < len(positions)
    # Where inputs follow the fixed positions there has to be a place for at least one.
    enough = variadic or len(placed) > len(fixed) - (not open_ended)
    surplus = not open_ended and len(required) > len(fixed)
    keywords = {p.name for p in parameters} >= set(_GIVEN) or any(p.kind is p.VAR_KEYWORD for p in parameters)
    if enough and not surplus and keywords:
        return
    name = getattr(rule, "__qualname__", repr(rule))
    raise RuleError(
        f"{owner}: {name}{signature} does not fit; expected {expected}, where params are outs, "
        "backend and the static keywords of the call: name them after a *, or take **params"
    )


def dense(value: Any) -> Any:
    """Return `value`, or None where it stands for zero."""
    if value is None or isinstance(value, ad.Zero):
        return None
    # float0 is JAX's type of the tangent of an integer.
    return None if getattr(value, "dtype", None) == jax.dtypes.float0 else value


def symbolic(tangent: Any, primal: Any) -> Any:
    """Return the tangent of `primal`, for None the symbolic zero among its tangents."""
    return ad.Zero(jax.typeof(primal).to_tangent_aval()) if tangent is None else tangent


def dense_cotangent(cotangent: Any, out: jax.ShapeDtypeStruct) -> Any:
    """Return the cotangent of `out`: zeros where it is None, `ad.Zero` where `out` is no float."""
    if cotangent is not None:
        return cotangent
    if jnp.issubdtype(out.dtype, jnp.inexact):
        return jnp.zeros(out.shape, out.dtype)
    return ad.Zero(ShapedArray(out.shape, out.dtype).to_tangent_aval())


def check_tangents(call: Call, tangents: Any) -> Flat:
    """Return the tangents of a jvp rule, flat, None for zero; raise RuleError unless they fit `outs`."""
    leaves = jax.tree.leaves(tangents, is_leaf=lambda x: x is None or isinstance(x, ad.Zero))
    flat = [dense(leaf) for leaf in leaves]
    if len(flat) != len(call.outs.flat):
        raise RuleError(
            f"operator {call.operator!r}: a jvp rule returned {len(flat)} tangents for "
            f"{len(call.outs.flat)} outputs; return one per leaf of outs, None for zero"
        )
    for i, (tangent, out) in enumerate(zip(flat, call.outs.flat, strict=True)):
        if tangent is not None:
            _check_tangent(call, i, jax.typeof(tangent), out)
    return flat


def _check_tangent(call: Call, i: int, tangent: Any, out: jax.ShapeDtypeStruct) -> None:
    actual, expected = f"{tangent.dtype}{list(tangent.shape)}", f"{out.dtype}{list(out.shape)}"
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        raise RuleError(
            f"operator {call.operator!r}: a jvp rule returned {actual} as tangent of output {i}, "
            f"which is {expected} and has none; return None there, or make the output a float"
        )
    if actual != expected:
        raise RuleError(
            f"operator {call.operator!r}: a jvp rule returned {actual} as tangent of output {i}; "
            f"expected {expected}"
        )


def transpose(operator: Operator, cotangents: Flat, *args: Any, call: Call, batch: Levels) -> Flat:
    """Return cotangents of the linear arguments, None for the rest; level by level, as `jvp` does."""
    fun = operator.rules.transpose
    if fun is None:
        raise MissingRuleError(
            f"operator {call.operator!r} is applied to a tangent, and reverse mode needs its "
            "transpose: call def_transpose_rule (a jvp rule that calls the operator needs it), "
            "or drop the jvp rule to differentiate through the reference"
        )
    linear = {i: x.aval for i, x in enumerate(args) if ad.is_undefined_primal(x)}
    residual = [None if i in linear else x for i, x in enumerate(args)]
    return _transpose_level(fun, [dense(ct) for ct in cotangents], linear, residual, call, batch)


def _transpose_level(
    fun: Rule, cotangents: Flat, linear: Mapping[int, Any], residual: Flat, call: Call, batch: Levels
) -> Flat:
    """Transpose in the `linear` inputs, of which the avals are given; `residual`: None for each of them."""
    if not batch:
        return _transpose_once(fun, cotangents, linear, residual, call)
    axes = list(batch[0].axes)
    of_one = {i: x if axes[i] is None else ShapedArray(x.shape[1:], x.dtype) for i, x in linear.items()}

    def inner(cts: Flat, xs: Flat) -> Flat:
        return _transpose_level(fun, cts, of_one, xs, call, batch[1:])

    results = jax.vmap(inner, in_axes=(0, axes), axis_size=batch[0].size)(cotangents, residual)
    # The cotangent of an input that the whole batch shares is the sum over the batch.
    return [r.sum(0) if r is not None and axis is None else r for r, axis in zip(results, axes, strict=True)]


def _transpose_once(
    fun: Rule, cotangents: Flat, linear: Mapping[int, Any], residual: Flat, call: Call
) -> Flat:
    filled = [dense_cotangent(ct, out) for ct, out in zip(cotangents, call.outs.flat, strict=True)]
    inputs = [ad.UndefinedPrimal(linear[i]) if i in linear else x for i, x in enumerate(residual)]
    returned = fun(call.outs.restore(filled), *inputs, **call.for_rule())
    # An array would come apart into its elements.
    if not isinstance(returned, list | tuple):
        raise RuleError(
            f"operator {call.operator!r}: the transpose rule returned {type(returned).__name__}; expected a "
            "list of one cotangent, or None, per input"
        )
    results = [r if dense(r) is None else jnp.asarray(r) for r in returned]
    actual = [None if dense(r) is None else f"{r.dtype}{list(r.shape)}" for r in results]
    expected = [f"{x.dtype}{list(x.shape)}" if (x := linear.get(i)) else None for i in range(len(inputs))]
    if len(actual) == len(expected) and all(g in (None, e) for g, e in zip(actual, expected, strict=True)):
        return list(map(dense, results))
    raise RuleError(
        f"operator {call.operator!r}: the transpose rule returned {_listed(actual)}; expected "
        f"{_listed(expected)}: one cotangent per input, of its shape and dtype, and None for inputs that "
        "this call does not transpose, those for which jax.interpreters.ad.is_undefined_primal(x) is False"
    )


def _listed(types: Sequence[str | None]) -> str:
    return f"[{', '.join(map(str, types))}]"
