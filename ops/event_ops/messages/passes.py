"""`Pass`, the computation in one visit of all entries of a matrix: an operator, and its batching rule."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import jax
import jax.numpy as jnp

from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.operators import define_kernel
from event_ops.codegen.refusals import Subject

# Where an input of a message is read for an entry, if it is not one for all: at the row, which receives, at
# the column, which sends, or at the entry.
ROW, COLUMN, ENTRY = "row", "column", "entry"
SWAPPED: Final = {ROW: COLUMN, COLUMN: ROW, ENTRY: ENTRY, ALL: ALL}
# Scalars are on no mesh, also where a derivative is asked for inside of jax.shard_map.
NO_MESH: Final = jax.sharding.AbstractMesh((), ())
SUBJECT: Final = Subject(
    "message",
    "edge",
    "message",
    "nodes or edges",
    "gspmm",
    "draw numbers outside, one for each edge, and pass them by name",
)
Axes = tuple[bool, ...]  # for each axis of features, whether an array has it


@dataclass(frozen=True)
class Result:
    """Say where a result goes.

    To its row, reduced, all features; to its column, summed, all features; or to its entry, summed over the
    features that it lacks.
    """

    place: str
    axes: Axes


@dataclass(frozen=True)
class Pass:
    """Describe the computation for every entry and feature, and where its results go.

    Arrays have two axes: rows, columns, entries or one for all; and the features that they have, in order.

    Args:
        message: the function of scalars; its places are those of its inputs.
        axes: for each input, the axes of features that it has.
        results: where each of the message's results goes.
        sizes: of the axes of features.
        reduce: how results are combined at a row: "sum", "max", "min" or "mul".
        shape: (rows, columns).
        structure: how many arrays say where entries are: indices and indptr, behind which is a permutation if
            entry p is at place permutation[p] of arrays; then how many say so of the transpose, or 0.
        exact: whether messages are compared with each other, so that each has to have the same bits wherever
            it is computed: no product and sum become one instruction in one kernel, and two in another.
    """

    is_exact: ClassVar = True

    message: Traced
    axes: tuple[Axes, ...]
    results: tuple[Result, ...]
    sizes: tuple[int, ...]
    reduce: str
    shape: tuple[int, int]
    structure: tuple[int, int]
    exact: bool = False

    def width(self, axes: Axes) -> int:
        """Return how many features an array has that has these axes."""
        return math.prod(size for size, has in zip(self.sizes, axes, strict=True) if has)

    @property
    def full(self) -> Axes:
        """All axes of features."""
        return (True,) * len(self.sizes)

    @property
    def features(self) -> int:
        """The number of features of a message."""
        return math.prod(self.sizes)

    def outs(self, dtype: Any, nse: int) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Return shapes and dtypes of the results."""
        lengths = {ROW: self.shape[0], COLUMN: self.shape[1], ENTRY: nse}
        return tuple(
            jax.ShapeDtypeStruct((lengths[x.place], self.width(x.axes)), dtype) for x in self.results
        )

    def part(self, numbers: Sequence[int]) -> Self:
        """Return the pass that has some of the results alone, for kernels: it knows the jaxpr of all."""
        message = replace(self.message, program=self.message.program.part(numbers))
        return replace(self, message=message, results=tuple(self.results[k] for k in numbers))

    def divided(self, arrays: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the arrays of the structure, then the inputs of the message."""
        count = sum(self.structure)
        return tuple(arrays[:count]), tuple(arrays[count:])


def call(
    of: Pass, structure: tuple[Any, ...], inputs: tuple[Any, ...], backend: str | None, dtype: Any
) -> Any:
    """Return the results of a pass; without features, sums of nothing."""
    outs = of.outs(dtype, structure[0].shape[0])
    if 0 in of.sizes:
        return tuple(jnp.zeros(x.shape, x.dtype) for x in outs)
    static = {"of": of, "primitive": of.message.rare}
    return kernel(*structure, *inputs, outs=outs, backend=backend, **static)


kernel = define_kernel("gspmm", "event_ops.messages", "sparse", "graph")


@kernel.def_batching_rule
def batched(args: tuple[Any, ...], axes: tuple[Any, ...], *, outs: Any, of: Pass, **params: Any) -> Any:
    """Fold an axis of inputs into one more axis of features, the first."""
    count = sum(of.structure)
    if any(axis is not None for axis in axes[:count]):
        return NotImplemented
    structure, inputs = of.divided(args)
    mapped = axes[count:]
    size = next(x.shape[axis] for x, axis in zip(inputs, mapped, strict=True) if axis is not None)
    wide = [
        x if axis is None else _as_features(jnp.moveaxis(x, axis, 1), size * of.width(has))
        for x, axis, has in zip(inputs, mapped, of.axes, strict=True)
    ]
    more = Pass(
        of.message,
        tuple((axis is not None, *has) for axis, has in zip(mapped, of.axes, strict=True)),
        tuple(Result(x.place, (True, *x.axes)) for x in of.results),
        (size, *of.sizes),
        of.reduce,
        of.shape,
        of.structure,
        of.exact,
    )
    shapes = more.outs(outs[0].dtype, structure[0].shape[0])
    if 0 in more.sizes:
        results = tuple(jnp.zeros(x.shape, x.dtype) for x in shapes)
    else:
        results = kernel(*structure, *wide, outs=shapes, of=more, **params)
    widths = [of.width(x.axes) for x in of.results]
    return tuple(x.reshape(x.shape[0], size, width) for x, width in zip(results, widths, strict=True)), 1


def _as_features(x: jax.Array, width: int) -> jax.Array:
    return x.reshape(x.shape[0], width)
