"""Inputs of a message: places, told by their names, and features, as axes that arrays have or lack."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import FLOATS, HALVES, as_array, check_dtype, check_same_dtype
from event_ops.checks.inputs import in_dtype, is_number
from event_ops.codegen.function import ALL, Traced, name_of
from event_ops.messages.passes import COLUMN, ENTRY, NO_MESH, ROW, SUBJECT, Axes

SUFFIXES = {"_src": COLUMN, "_dst": ROW}
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Operands:
    """The inputs of a message, each with an axis of places and one of features.

    Args:
        message: the traced function.
        arrays: (rows, columns, entries or 1, its features).
        axes: the axes of features that each of them has.
        sizes: of all axes of features; neighbours that the same arrays have are one axis.
        features: the shape of a message's features, as arrays broadcast.
        summed: the axes without the last of `features`.
        dtype: of results, in which nothing is computed where it has 16 bits.
    """

    message: Traced
    arrays: tuple[jax.Array, ...]
    axes: tuple[Axes, ...]
    sizes: Shape
    features: Shape
    summed: Axes
    dtype: Any


def operands_of(
    function: Callable[..., Any],
    variables: dict[str, Any],
    weight: jax.Array | None,
    grid: Shape,
    shape: tuple[int, int],
) -> Operands:
    """Return the inputs of a message, checked.

    Args:
        function: the message.
        variables: name -> value.
        weight: what the message takes as `weight`, unless that is among the variables.
        grid: the shape of entries.
        shape: (rows, columns).
    """
    named = dict(variables)
    if "weight" not in named and "weight" in inspect.signature(function).parameters:
        if weight is None:
            raise TypeError(
                f"the message {name_of(function)!r} takes weight, which is not given; pass it: weight=..."
            )
        named["weight"] = weight
    arrays, result = _in_one_dtype(named)
    places = {name: _place(name, x, grid, shape) for name, x in arrays.items()}
    entry_axes = len(grid)
    features = {
        name: x.shape[entry_axes if places[name] == ENTRY else 1 :] if places[name] != ALL else ()
        for name, x in arrays.items()
    }
    try:
        whole = jnp.broadcast_shapes(*features.values(), ())
    except ValueError:
        listed = ", ".join(f"{name} {x}" for name, x in features.items())
        raise ValueError(
            f"the features of the message {name_of(function)!r} do not broadcast: {listed}; expected shapes "
            "that do, behind the axis of nodes or edges, as in x[:, None] or weight[:, None]"
        ) from None
    padded = [(1,) * (len(whole) - len(x)) + tuple(x) for x in features.values()]
    # The last axis may be summed, so that it is one for itself there.
    marks = [*padded, (*whole[:-1], 1)] if whole else padded
    sizes, axes = _axes(whole, marks)
    dtypes = [x.dtype for x in arrays.values()]
    computed = next((x for x in dtypes if str(x) != "bool"), jax.dtypes.canonicalize_dtype(float))
    where = [places[name] for name in arrays]
    with jax.sharding.use_abstract_mesh(NO_MESH):
        message = Traced.of(function, dtypes, tuple(arrays), where, SUBJECT, results=[computed])
    flat = tuple(
        x.reshape(_count(places[name], grid, shape), math.prod(features[name])) for name, x in arrays.items()
    )
    axes_of_arrays = tuple(axes[: len(flat)])
    summed = axes[-1] if whole else ()
    return Operands(message, flat, axes_of_arrays, sizes, whole, summed, result or computed)


def _count(place: str, grid: Shape, shape: tuple[int, int]) -> int:
    return {ALL: 1, ENTRY: math.prod(grid), ROW: shape[0], COLUMN: shape[1]}[place]


def _in_one_dtype(named: dict[str, Any]) -> tuple[dict[str, jax.Array], Any]:
    """Return arrays of one float dtype, or flags; floats of 16 bits as float32, and the dtype of results."""
    numbers = {name for name, x in named.items() if is_number(x) and np.asarray(x).dtype != bool}
    arrays = {name: as_array(x, name) for name, x in named.items() if name not in numbers}
    floats = {name: x for name, x in arrays.items() if x.dtype != bool}
    for name, x in floats.items():
        check_dtype(name, x, (*FLOATS, *HALVES))
    # A number has the dtype of arrays; without any, NumPy's have their own.
    typed = [x for name in numbers if getattr(x := named[name], "dtype", np.dtype(int)).kind == "f"]
    dtype = jnp.result_type(*typed) if typed else jax.dtypes.canonicalize_dtype(float)
    for first, like in list(floats.items())[:1]:
        dtype = like.dtype
        for name, x in floats.items():
            check_same_dtype(name, x, first, like)
    computed = jnp.dtype("float32") if dtype in HALVES else dtype
    cast = {name: in_dtype(x, computed) if name in numbers else arrays[name] for name, x in named.items()}
    cast = {name: x if x.dtype == bool else jnp.asarray(x, computed) for name, x in cast.items()}
    return cast, dtype if dtype in HALVES else None


def _place(name: str, x: jax.Array, grid: Shape, shape: tuple[int, int]) -> str:
    """Return where an input is read, which its name says; raise ValueError for a shape that does not fit."""
    if not x.ndim:
        return ALL
    place = next((place for suffix, place in SUFFIXES.items() if name.endswith(suffix)), ENTRY)
    if place == ENTRY:
        # One weight for all, as matrices take it.
        if name == "weight" and x.shape == (1,) != grid:
            return ALL
        expected, per = grid, "edge; names of what nodes have end with _src, for columns, or _dst, for rows"
    else:
        side = 0 if place == ROW else 1
        expected, per = (shape[side],), f"{('row', 'column')[side]} of A, of shape {shape}"
    if x.shape[: len(expected)] != expected:
        sizes = ", ".join(map(str, expected))
        raise ValueError(
            f"{name} has shape {x.shape}; expected a number, or ({sizes}, ...): its features for each {per}"
        )
    return place


def _axes(whole: Shape, shapes: Sequence[Shape]) -> tuple[Shape, list[Axes]]:
    """Return the sizes of axes of features, and which of them arrays of these shapes have.

    An axis of one element is none, and neighbours that the same arrays have are one.
    """
    sizes: list[int] = []
    has: list[tuple[bool, ...]] = []
    for k, size in enumerate(whole):
        if size == 1:
            continue
        have = tuple(x[k] != 1 for x in shapes)
        if has and has[-1] == have:
            sizes[-1] *= size
        else:
            sizes.append(size)
            has.append(have)
    return tuple(sizes), [tuple(column[i] for column in has) for i in range(len(shapes))]
