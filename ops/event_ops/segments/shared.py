"""Compile functions of segments, and find the value of each datum's segment."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax

from event_ops.checks.keywords import places

F = TypeVar("F", bound=Callable[..., Any])
COMPLEX = "complex64", "complex128"
_STATIC = "num_segments", "indices_are_sorted", "mode", "deterministic", "backend", "ddof"


def one_program(function: F) -> F:
    """Compile a function for calls outside of jit; where it is traced, its operations are left."""
    compiled: Any = functools.partial(jax.jit, static_argnames=_STATIC, inline=True)(function)
    return compiled


def places_of(segment_ids: jax.Array, num_segments: int, mode: str) -> jax.Array:
    """Return the segment of each datum, at least one, or num_segments where it is dropped."""
    return places(segment_ids, num_segments, "clip" if mode == "clip" else "drop")


def taken(values: jax.Array, at: jax.Array, otherwise: float = 1) -> jax.Array:
    """Return the value of each datum's segment, or another where it has none."""
    return values.at[at].get(mode="fill", fill_value=otherwise)
