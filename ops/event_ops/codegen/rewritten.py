"""Primitives that kernels have no expression for, as functions of primitives that they have."""

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn


def _rounded_away(x: jax.Array) -> jax.Array:
    """Return x, rounded to the nearest integer, halves away from 0."""
    size, whole = jnp.abs(x), jnp.floor(jnp.abs(x))
    rounded = whole + jnp.where(size - whole >= 0.5, jnp.ones_like(x), jnp.zeros_like(x))
    return jnp.where(rounded == size, x, jnp.where(x < 0, -rounded, rounded))


def _is_before(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return whether x is before y in the order of all floats: -0.0 before 0.0, NaN behind all."""
    of_numbers = (x < y) | ((x == y) & jnp.signbit(x) & ~jnp.signbit(y))
    return of_numbers | ((x == x) & (y != y))


def _is_not_behind(x: jax.Array, y: jax.Array) -> jax.Array:
    return ~_is_before(y, x)


def _polynomial(x: jax.Array, *coefficients: jax.Array) -> jax.Array:
    """Return coefficients[0] + coefficients[1] * x + ..., by Horner's rule."""
    *rest, result = coefficients
    for coefficient in reversed(rest):
        result = result * x + coefficient
    return result


_COMPARISONS: Final[dict[str, Callable[..., Any]]] = {"le_to": _is_not_behind, "lt_to": _is_before}
REWRITTEN: Final = {*_COMPARISONS, "polynomial"}


def rewritten(equation: JaxprEqn) -> Callable[..., Any] | None:
    """Return the function that computes an equation's result; None: kernels have its primitive."""
    name = equation.primitive.name
    if name == "round" and equation.params["rounding_method"] == jax.lax.RoundingMethod.AWAY_FROM_ZERO:
        return _rounded_away
    if name == "polynomial":
        return _polynomial
    operand: Any = equation.invars[0].aval
    if name in _COMPARISONS and not jnp.issubdtype(operand.dtype, jnp.floating):
        return jax.lax.lt if name == "lt_to" else jax.lax.le
    return _COMPARISONS.get(name)
