"""Derivative rules of operators that are linear in an input."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ffi_bridge import XLACustomKernel


def tangents_in(kernel: XLACustomKernel, *positions: int, initial: int | None = None) -> Callable[..., Any]:
    """Return the jvp rule of a kernel that is linear in each of the inputs at `positions`.

    The tangent of one is the kernel with this tangent in its place, and 0 as what is added to: the input
    `initial`, if there is one, whose tangent is added as it is.
    """

    def term(i: int, primals: Sequence[Any], tangent: Any, params: Mapping[str, Any]) -> Any:
        if i == initial:
            return tangent
        inputs = list(primals)
        inputs[i] = tangent
        if initial is not None:
            inputs[initial] = jnp.zeros_like(primals[initial])
        return kernel(*inputs, **params)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...], **params: Any) -> tuple[Any, Any]:
        places = positions if initial is None else (*positions, initial)
        moved = {i: tangents[i] for i in places if not isinstance(tangents[i], ad.Zero)}
        terms = [term(i, primals, tangent, params) for i, tangent in moved.items()]
        return kernel(*primals, **params), reduce(add, terms) if terms else None

    return rule


def transpose_of(
    formula: Callable[..., Any], *positions: int, initial: int | None = None
) -> Callable[..., list[Any]]:
    """Return the transpose rule of a kernel that is `formula(*inputs, **params)`, made of operators.

    It is linear in each of the inputs at `positions`, of which one is transposed, and adds to `initial`,
    which the formula may leave out.
    """

    def rule(ct: Any, *inputs: Any, **params: Any) -> list[Any]:
        results: list[Any] = [None] * len(inputs)
        if initial is not None and ad.is_undefined_primal(inputs[initial]):
            results[initial] = ct
        for i in positions:
            if ad.is_undefined_primal(inputs[i]):
                of_one = partial(_of_one, formula, inputs, i, params)
                (results[i],) = jax.linear_transpose(of_one, inputs[i].aval)(ct)
        return results

    return rule


def _of_one(formula: Callable[..., Any], inputs: Any, place: int, params: Any, x: Any) -> Any:
    return formula(*inputs[:place], x, *inputs[place + 1 :], **params)


def of_one_weight(ct: jax.Array, sums: jax.Array) -> jax.Array:
    """Return the cotangent of one weight for all entries, from the sums that it multiplies in each output.

    An output's cotangent that is NaN or infinite does not count if its sum is 0.
    """
    counted = jnp.where((sums != 0) | jnp.isfinite(ct), ct, 0)
    return jnp.dot(counted.reshape(-1), sums.reshape(-1))  # not jnp.vdot, which would conjugate
