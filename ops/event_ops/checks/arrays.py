"""What arguments must be, checked when a call is traced: what was given, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.errors import InconclusiveDimensionOperation

from event_ops.checks.casts import ENABLE_X64, cast_advice, common_cast

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*FLOATS, "complex64", "complex128", *INTEGERS)
INDICES = ("int32", "int64", "uint32", "uint64")


def as_array(x: Any, name: str = "an array") -> jax.Array:
    """A JAX array; what already is one is handed on as it is.

    Raises ValueError where integers would be other ones, cut down to 32 bits.
    """
    if isinstance(x, jax.Array):
        return x
    array = jnp.asarray(x)
    if isinstance(x, np.ndarray | np.integer) and x.dtype.kind in "iu" and x.size and array.dtype != x.dtype:
        limits = np.iinfo(array.dtype)
        if x.min() < limits.min or x.max() > limits.max:
            raise ValueError(f"{name} holds {x.min()} to {x.max()}, which {array.dtype} cannot; {ENABLE_X64}")
    return array


def check_dtype(name: str, x: jax.Array, allowed: Sequence[str], *, otherwise: str = "") -> None:
    """Raise TypeError unless the dtype of `x` is one of `allowed`; `otherwise` ends the advice."""
    given = str(x.dtype)
    if given in allowed:
        return
    hint = cast_advice(name, x, allowed)
    if given in ("float16", "bfloat16"):
        hint = f"the kernels compute in 32 or 64 bits; {hint}"
    raise TypeError(f"{name} has dtype {given}; expected {' or '.join(allowed)}; {hint}{otherwise}")


def check_same_dtype(name: str, x: jax.Array, other_name: str, other: jax.Array) -> None:
    """Raise TypeError unless both have one dtype."""
    if x.dtype != other.dtype:
        raise TypeError(
            f"{name} has dtype {x.dtype} and {other_name} has dtype {other.dtype}; expected one dtype; "
            f"{common_cast(name, x, other_name, other)}"
        )


def check_shape(name: str, x: jax.Array, *expected: tuple[int, ...], why: str) -> None:
    """Raise ValueError unless `x` has one of the expected shapes."""
    if x.shape not in expected:
        shapes = " or ".join(map(str, expected))
        raise ValueError(f"{name} has shape {x.shape}; expected {shapes}: {why}")


def check_rank(name: str, x: jax.Array, rank: int, why: str) -> None:
    """Raise ValueError unless `x` has `rank` dimensions."""
    if x.ndim != rank:
        raise ValueError(f"{name} has {x.ndim} dimensions, shape {x.shape}; expected {rank}: {why}")


def check_positive(name: str, x: Any, *, zero: bool = False) -> None:
    """Raise ValueError where a value that is known now is not > 0 (or >= 0); NaN is not."""
    if isinstance(x, Tracer):
        return
    values = np.asarray(x)
    good = values >= 0 if zero else values > 0
    if not good.all():
        worst = values[~good].flat[0]
        raise ValueError(
            f"{name} is or contains {worst}; expected only values {'>=' if zero else '>'} 0; "
            "check its sign and unit (times are in ms)"
        )


def reaches(size: Any, least: int) -> bool:
    """Return whether a size is known to be `least` or more, as one that an export leaves open is not."""
    try:
        return bool(size >= least)
    except InconclusiveDimensionOperation:
        return False
