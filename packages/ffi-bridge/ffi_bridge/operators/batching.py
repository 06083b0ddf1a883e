"""General batching: `jax.vmap` of an operator is the operator with one level more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Level(NamedTuple):
    """One `jax.vmap`: its size, and for each input the mapped axis, 0 or None."""

    size: int
    axes: tuple[int | None, ...]


Levels = tuple[Level, ...]  # the innermost jax.vmap first, whose axis is the last of the leading ones


def add_level(ins: Sequence[Any], axes: Sequence[int | None]) -> tuple[list[Any], Level]:
    """The inputs with their mapped axes in front, and the level that says so."""
    size = next(x.shape[axis] for x, axis in zip(ins, axes, strict=True) if axis is not None)
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(ins, axes, strict=True)]
    return moved, Level(size, tuple(None if axis is None else 0 for axis in axes))


def batch_shape(levels: Levels) -> tuple[int, ...]:
    """The leading dimensions of every output."""
    return tuple(level.size for level in reversed(levels))


def mapped(function: Callable[..., Any], levels: Levels) -> Callable[..., Any]:
    """`function` of unbatched arrays, under one `jax.vmap` per level."""
    for level in levels:
        function = jax.vmap(function, in_axes=level.axes, axis_size=level.size)
    return function
