"""A kernel for a whole batch: one launch, whose blocks along the third axis take the elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from numba import cuda, types
from numba.cuda.extending import intrinsic
from numba.np.arrayobj import populate_array

from ffi_bridge.fingerprint import references
from ffi_bridge.launch_extents import MAX_GRID
from ffi_bridge.numba_cuda_compile import device_function


def batch_blocks(sizes: Sequence[int]) -> int:
    """How many blocks along the third axis a batch of these extents takes; each takes several if need be."""
    return min(math.prod(sizes), MAX_GRID[2])


def uses_third_axis(function: Any) -> bool:
    """Whether a kernel, or what it calls, may ask for its place along the third axis."""
    seen: set[int] = set()

    def search(function: FunctionType) -> bool:
        if id(function) in seen:
            return False
        seen.add(id(function))
        code = function.__code__
        asked = "z" in code.co_names or (3 in code.co_consts and {"grid", "gridsize"} & set(code.co_names))
        called = (getattr(value, "py_func", value) for _, value in references(function, code))
        return bool(asked) or any(search(f) for f in called if isinstance(f, FunctionType))

    return search(function)


@intrinsic
def element(context: Any, array: Any, i: Any) -> Any:
    """Element i of a C-contiguous array laid flat, as a 0-d array: indexing would give its value."""
    single = types.Array(array.dtype, 0, "C", readonly=not array.mutable)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(array)(context, builder, arguments[0])
        found = context.make_array(single)(context, builder)
        place = builder.gep(whole.data, [arguments[1]])
        populate_array(found, place, (), (), whole.itemsize, whole.meminfo)
        return found._getvalue()

    return single(array, i), emit


@functools.cache
def batched_kernel(
    kernel: Any,
    sizes: tuple[int, ...],
    batched: tuple[tuple[bool, ...], ...],
    ranks: tuple[int, ...],
) -> Any:
    """The kernel that does what `kernel` does for each element of a batch.

    `sizes`: extents of the batch levels; `batched[i][l]`: argument i has an axis for level l, in front of the
    `ranks[i]` axes of its own.
    """
    count = math.prod(sizes)
    parameters = [f"x{i}" for i in range(len(batched))]
    lines = [f"def {kernel.__name__}({', '.join(parameters)}):"]
    lines += [f"    for element in range(cuda.blockIdx.z, {count}, cuda.gridDim.z):"]
    rest = count
    for level, size in enumerate(sizes):
        rest //= max(1, size)
        lines += [f"        i{level} = element // {max(1, rest)} % {max(1, size)}"]
    arguments = (_argument(*of_one, sizes) for of_one in zip(parameters, batched, ranks, strict=True))
    lines += [f"        kernel({', '.join(arguments)})"]
    # Numba compiles functions, so that one of another number of arguments has to be made from text.
    names: dict[str, Any] = {"cuda": cuda, "kernel": device_function(kernel), "single": element}
    exec("\n".join(lines), names)
    options = {name: value for name, value in kernel.targetoptions.items() if name != "device"}
    return cuda.jit(**options)(names[kernel.__name__])


def _argument(parameter: str, axes: tuple[bool, ...], rank: int, sizes: tuple[int, ...]) -> str:
    """The source text that takes one element of a batch out of a parameter."""
    levels = [level for level, has in enumerate(axes) if has]
    if not levels:
        return parameter
    if rank:
        return f"{parameter}[{', '.join(f'i{level}' for level in levels)}, ...]"
    place = functools.reduce(lambda text, level: f"({text} * {sizes[level]} + i{level})", levels, "0")
    return f"single({parameter}, {place})"
