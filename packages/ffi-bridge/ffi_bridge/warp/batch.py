"""Make a Warp kernel for a whole batch: one launch, whose blocks along two more axes take the elements.

No `from __future__ import annotations`: Warp reads the annotations of native functions as they are.
"""

# pyright: reportInvalidTypeForm=false

import ast
import ctypes
import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import warp as wp

from ffi_bridge.cuda.extents import MAX_GRID, LaunchExtents
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.warp import internals
from ffi_bridge.warp.internals import array_annotation, body_of, call_of, parameters_of, transformed

# On the CPU, which has no blocks, a launch is for element `first` alone.
_MOVE: Final = """
    unsigned element = first;
#if defined(__CUDA_ARCH__)
    element += blockIdx.y + gridDim.y * blockIdx.z;
#endif
    size_t bytes = 0, adjoint_bytes = 0;
    for (unsigned level = LEVELS; level-- > 0; element /= sizes[level]) {
        size_t index = level ? element % sizes[level] : element;
        bytes += index * strides[level];
        adjoint_bytes += index * adjoint_strides[level];
    }
    x.data = wp::data_at_byte_offset(x, bytes);
    if (x.grad) x.grad = wp::grad_at_byte_offset(x, adjoint_bytes);
    return x;
"""

# Names of the parameters that a kernel for a batch has beside its own, and has for each array, behind the
# array's name; no user would give them.
_FIRST, _SIZES = "first__", "sizes__"
_WHOLE, _STRIDES, _ADJOINT_STRIDES = "__of_batch", "__strides", "__adjoint_strides"

# Warp's hash of a kernel, by which it finds machine code on disk, does not cover what a transformer adds.
_CONTENTS: Final = fingerprint(*(Path(path).read_bytes() for path in (__file__, internals.__file__)))


# Adjoints that a user wrote read the adjoint of an array by itself, and not through `grad`.
@wp.func_native("", adj_snippet="adj_x = x; adj_x.data = x.grad; adj_x.grad = nullptr;")
def _place_adjoint(x: Any): ...


@functools.cache
def _move(dtype: Any, ndim: int, levels: int) -> Any:
    """Return the Warp function that moves an array of a batch with these levels to one element."""
    array: Any = wp.array(dtype=dtype, ndim=ndim)
    extents: Any = wp.types.vector(levels, wp.uint32)
    bytes_: Any = wp.types.vector(levels, wp.int64)

    @wp.func_native(_MOVE.replace("LEVELS", str(levels)))
    def move(
        x: array, first: wp.uint32, sizes: extents, strides: bytes_, adjoint_strides: bytes_
    ) -> array: ...

    return move


class _OfElement(ast.NodeTransformer):
    """Gives the body of a kernel its arrays moved to one element of a batch."""

    def __init__(self, moves: dict[str, Any]) -> None:
        self._moves = moves

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        moved = [
            call_of(
                f"{x} = f({x}{_WHOLE}, {_FIRST}, {_SIZES}, {x}{_STRIDES}, {x}{_ADJOINT_STRIDES})", function
            )
            for x, function in self._moves.items()
        ]
        node.body = [*moved, *node.body, *self._adjoints()]
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        return [*self._adjoints(), node]

    def _adjoints(self) -> list[ast.stmt]:
        # Adjoints run in reverse, so that what stands last in the body comes before all that needs it.
        return [call_of(f"f({x})", _place_adjoint) for x in self._moves]


def _arrays_of(kernel: Any) -> dict[str, Any]:
    """Return the parameters that are arrays, with their types."""
    annotations = ((name, array_annotation(kind)) for name, kind in parameters_of(kernel))
    return {name: of_type for name, of_type in annotations if of_type is not None}


def takes_batch(kernel: Any) -> bool:
    """Return whether `batched_kernel` takes a kernel, which must not assign to the name of an array."""
    arrays = _arrays_of(kernel)
    names = (node for node in ast.walk(body_of(kernel)) if isinstance(node, ast.Name))
    return not any(name.id in arrays and isinstance(name.ctx, ast.Store) for name in names)


@functools.cache
def batched_kernel(kernel: Any, levels: int) -> Any:
    """Return the kernel that does the work of `kernel` for the element of a batch that its block takes.

    Parameters are those of `kernel`, then those of `batch_parameters`. Gradients of arrays are where their
    `grad` points, and adjoint arguments are not read.
    """
    extents, strides = wp.types.vector(levels, wp.uint32), wp.types.vector(levels, wp.int64)
    arrays = _arrays_of(kernel)
    annotations = {name + _WHOLE * (name in arrays): kind for name, kind in parameters_of(kernel)}
    annotations |= {_FIRST: wp.uint32, _SIZES: extents}
    for name in arrays:
        annotations |= {name + _STRIDES: strides, name + _ADJOINT_STRIDES: strides}
    moves = {name: _move(of_type.dtype, of_type.ndim, levels) for name, of_type in arrays.items()}
    module = f"{kernel.module.name}_{kernel.key}_batch_{levels}_{_CONTENTS.digest[:8]}"
    return transformed(kernel, annotations, module, _OfElement(moves))


def batch_parameters(
    first: int, sizes: Sequence[int], strides: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> list[Any]:
    """Return C values: first element of a launch, extents of the batch levels, bytes of strides.

    Each array, in order, has strides of two kinds: for itself, and for its adjoint.
    """
    vector = wp.types.vector(len(sizes), wp.int64)
    values = [vector(*of_one) for of_array in strides for of_one in of_array]
    return [ctypes.c_uint32(first), wp.types.vector(len(sizes), wp.uint32)(*sizes), *values]


def launches_of_batch(extents: LaunchExtents, sizes: Sequence[int]) -> Iterator[tuple[int, LaunchExtents]]:
    """Yield the first element and the extents of one launch, or of two where an axis has too few blocks."""
    count = math.prod(sizes)
    # Elements go along y as far as it reaches, then along z; what is left takes a second launch.
    rows, rest = divmod(count, MAX_GRID[1])
    for first, y, z in ((0, MAX_GRID[1], rows), (count - rest, rest, 1)):
        if y and z:
            yield first, replace(extents, grid=(extents.grid[0], y, z))
