"""Reverse mode of an operator that is linear in an input: its declared transpose rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.interpreters import ad

from ffi_bridge.errors import MissingRuleError, RuleError
from ffi_bridge.native.vmap_axes import Levels
from ffi_bridge.operators.call import Call
from ffi_bridge.operators.rules import Flat, Rule, dense, dense_cotangent


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
    """Return cotangents of the linear arguments, None for the others; level by level, as `jvp` does."""
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
