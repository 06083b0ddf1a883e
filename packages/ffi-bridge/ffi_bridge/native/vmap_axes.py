"""Batch levels: which inputs of a call each surrounding `jax.vmap` maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax


class Level(NamedTuple):
    """One `jax.vmap`: its size, and which inputs have its axis."""

    size: int
    mapped: tuple[bool, ...]

    @property
    def axes(self) -> tuple[int | None, ...]:
        """Return the mapped axis of each input as `jax.vmap` takes it: 0 or None."""
        return tuple(0 if mapped else None for mapped in self.mapped)


Levels = tuple[Level, ...]  # outermost first, as the axes of the inputs that have them


def add_level(ins: Sequence[Any], axes: Sequence[int | None]) -> tuple[list[Any], Level]:
    """Return the inputs with their mapped axes in front, and the outermost level that says so."""
    size = next(x.shape[axis] for x, axis in zip(ins, axes, strict=True) if axis is not None)
    # An axis that is in front is not moved: outside of jit that would be a program of its own.
    moved = [jax.numpy.moveaxis(x, axis, 0) if axis else x for x, axis in zip(ins, axes, strict=True)]
    return moved, Level(size, tuple(axis is not None for axis in axes))


def sizes_of(levels: Levels) -> tuple[int, ...]:
    """Return the leading dimensions of every output."""
    return tuple(level.size for level in levels)
