"""Checks that all rules of an operator share: their arity, and the zeros they are given and return.

Inside this package a tangent or cotangent that is zero is None; declared rules see
`jax.interpreters.ad.Zero`. Reverse mode of an operator that is linear in an input is its transpose rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.interpreters import ad

from ffi_bridge.errors import MissingRuleError, RuleError
from ffi_bridge.native.tracing import Levels
from ffi_bridge.operators.call import Call

Rule = Callable[..., Any]
Flat = list[Any]

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
    return None if getattr(value, "dtype", None) == jax.dtypes.float0 else value


def zero_tangent(primal: Any) -> ad.Zero:
    """Return the symbolic zero among the tangents of `primal`."""
    return ad.Zero(jax.typeof(primal).to_tangent_aval())


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
    given, expected = f"{tangent.dtype}{list(tangent.shape)}", f"{out.dtype}{list(out.shape)}"
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        raise RuleError(
            f"operator {call.operator!r}: a jvp rule returned {given} as tangent of output {i}, "
            f"which is {expected} and has none; return None there, or make the output a float"
        )
    if given != expected:
        raise RuleError(
            f"operator {call.operator!r}: a jvp rule returned {given} as tangent of output {i}; "
            f"expected {expected}"
        )


@dataclass(frozen=True)
class _Linear:
    """A linear argument: the primitive is transposed with respect to it."""

    aval: Any

    def without_axis(self, axis: int | None) -> _Linear:
        if axis is None:
            return self
        return _Linear(ShapedArray(self.aval.shape[1:], self.aval.dtype))


def transpose(
    fun: Rule | None, cotangents: Sequence[Any], args: Sequence[Any], call: Call, batch: Levels
) -> Flat:
    """Return cotangents of the linear arguments, None for the rest; level by level, as `jvp` does."""
    if fun is None:
        raise MissingRuleError(
            f"operator {call.operator!r} is applied to a tangent, and reverse mode needs its "
            "transpose: call def_transpose_rule (a jvp rule that calls the operator needs it), "
            "or drop the jvp rule to differentiate through the reference"
        )
    marked = [_Linear(x.aval) if ad.is_undefined_primal(x) else x for x in args]
    return _transpose_level(fun, [dense(ct) for ct in cotangents], marked, call, batch)


def _transpose_level(fun: Rule, cotangents: Flat, args: Flat, call: Call, batch: Levels) -> Flat:
    if not batch:
        return _transpose_once(fun, cotangents, args, call)
    size, axes = batch[0].size, batch[0].axes
    linear = {i: x.without_axis(axes[i]) for i, x in enumerate(args) if isinstance(x, _Linear)}
    residual = [i for i in range(len(args)) if i not in linear]
    nonzero = [i for i, ct in enumerate(cotangents) if ct is not None]
    found: list[int] = []  # while tracing: the inputs whose cotangent is not zero

    def inner(cts: Flat, xs: Flat) -> Flat:
        known = dict(zip(nonzero, cts, strict=True))
        every = [known.get(i) for i in range(len(cotangents))]
        given = linear | dict(zip(residual, xs, strict=True))
        inputs = [given[i] for i in range(len(args))]
        results = _transpose_level(fun, every, inputs, call, batch[1:])
        found[:] = [i for i, result in enumerate(results) if result is not None]
        return [results[i] for i in found]

    in_axes = ([0] * len(nonzero), [axes[i] for i in residual])
    results = jax.vmap(inner, in_axes=in_axes, axis_size=size)(
        [cotangents[i] for i in nonzero], [args[i] for i in residual]
    )
    # The cotangent of an input that the whole batch shares is the sum over the batch.
    total = {i: r.sum(0) if axes[i] is None else r for i, r in zip(found, results, strict=True)}
    return [total.get(i) for i in range(len(args))]


def _transpose_once(fun: Rule, cotangents: Flat, args: Flat, call: Call) -> Flat:
    filled = [dense_cotangent(ct, out) for ct, out in zip(cotangents, call.outs.flat, strict=True)]
    inputs = [ad.UndefinedPrimal(x.aval) if isinstance(x, _Linear) else x for x in args]
    results = [dense(r) for r in fun(call.outs.restore(filled), *inputs, **call.for_rule())]
    expected = [x.aval.shape if isinstance(x, _Linear) else None for x in args]
    given = [None if r is None else jnp.shape(r) for r in results]
    if len(given) == len(expected) and all(g in (None, e) for g, e in zip(given, expected, strict=True)):
        return results
    raise RuleError(
        f"operator {call.operator!r}: the transpose rule returned shapes {given}; expected "
        f"{expected}: one cotangent per input, of its shape, and None for inputs that this call does not "
        "transpose, those for which jax.interpreters.ad.is_undefined_primal(x) is False"
    )
