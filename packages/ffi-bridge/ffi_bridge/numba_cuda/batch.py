"""A kernel for a whole batch: one launch, whose blocks along the third axis take the elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ffi_bridge.cuda.extents import MAX_GRID
from ffi_bridge.identity.references import references
from ffi_bridge.numba_cuda.compile import compiler_of
from ffi_bridge.numba_cuda.entry import generated


def batch_blocks(sizes: Sequence[int]) -> int:
    """Return the number of blocks along the third axis for a batch; each may take several elements."""
    return min(math.prod(sizes), MAX_GRID[2])


def uses_third_axis(function: Any) -> bool:
    """Return whether a kernel, or what it calls, may ask for its place along the third axis."""
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


@functools.cache
def batched_kernel(
    kernel: Any,
    sizes: tuple[int, ...],
    steps: tuple[tuple[int | None, ...], ...],
    ranks: tuple[int, ...],
) -> Any:
    """Return the kernel that does what `kernel` does for each element of a batch.

    `sizes`: extents of the batch levels; `steps[i][l]`: how far argument i moves on from one index of level l
    to the next, in elements; None if it has no axis for that level, in front of the `ranks[i]` of its own.
    """
    count = math.prod(sizes)
    parameters = [f"x{i}" for i in range(len(steps))]
    lines = [f"def _written_({', '.join(parameters)}):"]
    lines += [f"    for element in range(_cuda_.blockIdx.z, {count}, _cuda_.gridDim.z):"]
    rest = count
    for level, size in enumerate(sizes):
        rest //= max(1, size)
        lines += [f"        i{level} = element // {max(1, rest)} % {max(1, size)}"]
    arguments = (_argument(*of_one) for of_one in zip(parameters, steps, ranks, strict=True))
    lines += [f"        _of_one_({', '.join(arguments)})"]
    if count > MAX_GRID[2]:  # a block takes several elements, in the same shared memory
        lines += ["        _cuda_.syncthreads()"]
    compiler = compiler_of(kernel)
    inner = compiler.device_function(kernel)
    names: dict[str, Any] = {"_cuda_": compiler.cuda, "_of_one_": inner, "_element_of_": compiler.element}
    return compiler.like(kernel, generated(kernel, lines, names))


def _argument(parameter: str, steps: tuple[int | None, ...], rank: int) -> str:
    """Return source text that takes one element of a batch out of a parameter."""
    levels = [level for level, step in enumerate(steps) if step is not None]
    if not levels:
        return parameter
    if rank:
        return f"{parameter}[{', '.join(f'i{level}' for level in levels)}]"
    return f"_element_of_({parameter}, {' + '.join(f'i{level} * {steps[level]}' for level in levels)})"
