"""Tangents of maxima, minima and products: each message's own, times a factor from its row.

The factor of a product is that of all other messages, by division. So that none is 0 / 0, or overflows on the
way, messages that are 0, infinite or NaN are counted instead, and exponents are summed apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from event_ops.messages.passes import ROW
from event_ops.messages.visits import Visit

# Returns what each row has for the tangents of its messages, from a visit of these and the results; then the
# factors of the sums of these tangents.
OfRows = Callable[[Visit, Any, Any], tuple[tuple[Any, ...], Any]]


_UNNOTICED: Final = 1e-30


def _reduced(
    each: Callable[..., Sequence[Any]], visit: Visit, how: Any, reduce: str, *at_row: Any, count: int = 1
) -> tuple[Any, ...]:
    """Return the reductions by row of the `count` numbers that `each` makes of a message and values there."""
    # Mantissas and exponents, or ties, are of one value only if both visits round it alike.
    of, scalars = replace(visit.of, exact=True), jaxpr_as_fun(visit.of.message.jaxpr)
    inputs = len(of.axes)
    reduction = Visit(of, visit.inputs[:inputs])
    for x in at_row:
        reduction.add(x, ROW, of.full)

    def results(*scalars_of_visit: Any) -> Sequence[Any]:
        return each(*scalars(*scalars_of_visit[:inputs]), *scalars_of_visit[inputs:])

    return reduction.run((each.__name__.strip("_"),), results, of.results * count, reduce, **how)


def _shared(visit: Visit, primal: Any, how: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the maximum or minimum, and the share in its tangent of each message that is equal to it."""
    (y,) = primal
    (ties,) = _reduced(_ties, visit, how, "sum", y)
    # A result that no entry has is NaN, which has no derivative; any other would be one that is not computed
    # twice alike, and must not pass for a derivative of 0.
    lost = (ties > 0) & ~jnp.isnan(y)
    none = jnp.where(lost, jnp.full_like(y, jnp.nan), jnp.zeros_like(y))
    return (y,), jnp.where(ties >= 1, 1 / jnp.maximum(ties, 1), none)


def _ties(value: Any, y: Any) -> list[Any]:
    # What no sum with 1 notices tells a row without ties from one without entries.
    return [jnp.where(value == y, jnp.ones_like(value), jnp.full_like(value, _UNNOTICED))]


def _of_equal(value: Any, dot: Any, y: Any) -> Any:
    return jnp.where(value == y, dot, jnp.zeros_like(dot))


def _factors(visit: Visit, primal: Any, how: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the product of the mantissas of each row's messages, and the sums of `_exponents`."""
    return (*_reduced(_mantissas, visit, how, "mul"), *_reduced(_exponents, visit, how, "sum", count=5)), 1


def _mantissas(value: Any) -> list[Any]:
    return [_mantissa_and_exponent(value)[0]]


def _exponents(value: Any) -> list[Any]:
    """Return the exponent; the message if it is 0; and whether it is 0, infinite or NaN."""
    _, exponent = _mantissa_and_exponent(value)
    is_zero = value == 0
    zero = jnp.where(is_zero, value, jnp.zeros_like(value))
    flags = is_zero, jnp.abs(value) == jnp.inf, value != value
    return [exponent, zero, *(x.astype(value.dtype) for x in flags)]


def _times_others(value: Any, dot: Any, *of_row: Any) -> Any:
    """Return the tangent times the product of the rest of the row, as IEEE arithmetic has it."""
    product, *sums = of_row
    mantissas = product / _mantissas(value)[0]
    own = zip(sums, _exponents(value), strict=True)
    exponent, zero, zeros, infinite, nan = (total - x for total, x in own)
    others, most = _scaled(mantissas, exponent), np.finfo(value.dtype).max
    # The sum of the messages that are 0 has the derivatives of the one that there is.
    zero = jnp.where(zeros > 1, jnp.zeros_like(zero), zero)
    others = jnp.where(zeros > 0, zero * jnp.clip(others, -most, most), others)
    others = jnp.where(infinite > 0, jnp.where(zeros > 0, zero, mantissas) * jnp.inf, others)
    return dot * jnp.where(nan > 0, jnp.full_like(value, jnp.nan), others)


def _mantissa_and_exponent(x: Any) -> tuple[Any, Any]:
    """Return m and e of x = m * 2**e, m around 1; of an infinity its sign and 0, of 0 and NaN 1 and 0."""
    number = np.finfo(x.dtype)
    whole, bias = np.dtype(f"int{number.bits}").type, number.maxexp - 1
    size = jnp.abs(x)
    is_plain = (size > 0) & (size < np.inf)
    bits = jax.lax.bitcast_convert_type(jnp.where(is_plain, size, jnp.ones_like(x)), whole)
    # Exponents are rounded so that mantissas are between the square roots of 1/2 and 2, and balance.
    root, two = np.sqrt(np.asarray([2, 4], x.dtype)).view(whole)
    exponent = jax.lax.shift_right_arithmetic(bits + whole(two - root), whole(number.nmant)) - whole(bias)
    exponent = jnp.clip(exponent, whole(1 - bias), whole(bias - 1))  # of which the inverse is normal
    sign = jnp.where(size == np.inf, jnp.sign(x), jnp.ones_like(x))
    return jnp.where(is_plain, x * _power(-exponent, x.dtype), sign), exponent.astype(x.dtype)


def _power(exponent: Any, dtype: Any) -> Any:
    """Return 2**exponent, a normal number, of an integer."""
    number = np.finfo(dtype)
    whole = exponent.dtype.type
    bits = (exponent + whole(number.maxexp - 1)) * whole(1 << number.nmant)
    return jax.lax.bitcast_convert_type(bits, dtype)


def _scaled(x: Any, exponent: Any) -> Any:
    """Return x * 2**exponent, a whole number; NaN where x has left the range on the way back to it."""
    number = np.finfo(x.dtype)
    whole = np.dtype(f"int{number.bits}").type
    most = 3 * (number.maxexp - 4)
    third = jnp.floor(jnp.clip(exponent, -most, most) / 3)
    # The bits of a float of this size are those of an integer: kernels do not cast floats to integers.
    shift = np.asarray(1.5 * 2**number.nmant, x.dtype)
    scaled = x
    for part in (third, third, jnp.clip(exponent, -most, most) - 2 * third):
        bits = jax.lax.bitcast_convert_type(part + shift, whole) - shift.view(whole)
        scaled = scaled * _power(bits, x.dtype)
    lost = ((x == 0) & (exponent > 0)) | ((jnp.abs(x) == np.inf) & (exponent < 0))
    return jnp.where(lost, jnp.full_like(x, jnp.nan), scaled)


OF_ROWS: Final[dict[str, OfRows]] = {"max": _shared, "min": _shared, "mul": _factors}
TANGENTS: Final[dict[str, Callable[..., Any]]] = {"max": _of_equal, "min": _of_equal, "mul": _times_others}
