"""Checks that all rules of an operator share: their arity, and the zeros they are given and return.

Inside this package a tangent or cotangent that is zero is None; declared rules see
`jax.interpreters.ad.Zero`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.interpreters import ad

from ffi_bridge.errors import RuleError
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
