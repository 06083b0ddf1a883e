"""Derivative rules of operators that are linear in an input."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ffi_bridge import XLACustomKernel


def tangent_in(kernel: XLACustomKernel, position: int) -> Callable[..., Any]:
    """Return the rule `dy = kernel(..., dx, ...)`: the operator, with the tangent as input `position`."""

    def rule(tangent: Any, *primals: Any, **params: Any) -> Any:
        return kernel(*primals[:position], tangent, *primals[position + 1 :], **params)

    return rule


def tangent_without_initial(kernel: XLACustomKernel, position: int) -> Callable[..., Any]:
    """Return the rule for an input in which an operator is linear once its last one, `initial`, is 0."""
    rule = tangent_in(kernel, position)
    return lambda tangent, *primals, **params: rule(
        tangent, *primals[:-1], jnp.zeros_like(primals[-1]), **params
    )


def tangents_in(kernel: XLACustomKernel, *positions: int) -> Callable[..., Any]:
    """Return the jvp rule of a kernel, of however many inputs, that is linear in the ones at `positions`."""
    rules = {position: tangent_in(kernel, position) for position in positions}

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...], **params: Any) -> tuple[Any, Any]:
        given = {i: tangents[i] for i in positions if not isinstance(tangents[i], ad.Zero)}
        terms = [rules[i](tangent, *primals, **params) for i, tangent in given.items()]
        return kernel(*primals, **params), reduce(add, terms) if terms else None

    return rule


def of_one_weight(ct: jax.Array, sums: jax.Array) -> jax.Array:
    """Return the cotangent of one weight for all entries, from the sums that it multiplies in each output.

    An output's cotangent that is NaN or infinite does not count if its sum is 0.
    """
    counted = jnp.where((sums != 0) | jnp.isfinite(ct), ct, 0)
    return jnp.dot(counted.reshape(-1), sums.reshape(-1))  # not jnp.vdot, which would conjugate
