"""Grid and block of a CUDA launch, from the arguments of a user."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ffi_bridge.errors import KernelDefinitionError
from ffi_bridge.native.outs import option_for_call

Extents = tuple[int, int, int]

BLOCKS: Final = {2: (16, 16), 3: (8, 8, 4)}  # by the number of launch_dims; for one: threads_per_block

# The limits of every GPU since compute capability 3.0.
MAX_THREADS: Final = 1024
MAX_BLOCK: Final = (1024, 1024, 64)
MAX_GRID: Final = ((1 << 31) - 1, 65535, 65535)


@dataclass(frozen=True)
class LaunchExtents:
    """Blocks in a grid, threads in a block, and bytes of dynamic shared memory.

    `cooperative`: all blocks run at once, so that they may wait for each other; `fills_gpu`: the grid is as
    many blocks as do, which is known when the kernel is loaded. `rank`: how many dimensions a user gave.
    """

    grid: Extents
    block: Extents
    shared: int
    cooperative: bool = False
    fills_gpu: bool = False
    # Not in the text by which programs are told apart: it changes messages only.
    rank: int = field(default=3, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        grid: int | Sequence[int] | None,
        block: int | Sequence[int] | None,
        launch_dims: int | Sequence[int] | None,
        threads_per_block: int,
        shared_mem: int,
        cooperative: bool = False,
    ) -> LaunchExtents:
        """Take `grid` and `block`, or `launch_dims`; raise KernelDefinitionError for anything else.

        A cooperative launch may leave out `grid`.
        """
        _check_given(grid, block, launch_dims, cooperative)
        (shared,) = integers("shared_mem", shared_mem, "a number of bytes", 0, most=1)
        if launch_dims is None:
            fills_gpu = grid is None
            blocks, wide = (1,) if fills_gpu else _dims("grid", grid, 0), _dims("block", block, 1)
            rank = max(len(blocks), len(wide))
            return cls(_filled(blocks), _filled(wide), shared, cooperative, fills_gpu, rank)
        (threads,) = integers("threads_per_block", threads_per_block, "a number of threads", 1, most=1)
        dims = _dims("launch_dims", launch_dims, 0)
        sizes = BLOCKS.get(len(dims), (threads,))
        # Along an empty axis there are no blocks, and yet a block has to have a thread.
        wide = tuple(max(1, min(size, dim)) for size, dim in zip(sizes, dims, strict=True))
        blocks = tuple(-(-dim // size) for dim, size in zip(dims, wide, strict=True))
        return cls(_filled(blocks), _filled(wide), shared, cooperative, rank=len(dims))

    def __post_init__(self) -> None:
        """Raise KernelDefinitionError if no GPU can launch these extents."""
        if math.prod(self.block) > MAX_THREADS or any(map(operator.gt, self.block, MAX_BLOCK)):
            raise KernelDefinitionError(
                f"a block of {self.block} threads; CUDA allows {MAX_BLOCK}, and {MAX_THREADS} together"
            )
        if any(map(operator.gt, self.grid, MAX_GRID)):
            raise KernelDefinitionError(f"a grid of {self.grid} blocks; CUDA allows {MAX_GRID}")

    def resident(self, kernel: str, most: int) -> LaunchExtents:
        """Return the extents of a cooperative launch on a GPU that runs `most` blocks of them at once.

        Raises KernelDefinitionError where the grid has more, which would wait for blocks that never begin.
        """
        needs = f"a block has {self.block} threads and {self.shared} bytes of dynamic shared memory"
        if most == 0:
            raise KernelDefinitionError(
                f"kernel '{kernel}': not one block of it fits on a multiprocessor of this GPU; {needs}: "
                "give it fewer threads, or less shared memory"
            )
        if self.fills_gpu:
            return replace(self, grid=(most, 1, 1))
        count = math.prod(self.grid)
        if count > most:
            raise KernelDefinitionError(
                f"kernel '{kernel}': a cooperative launch of {count} blocks, grid {self.grid}; "
                f"all have to run at once, and {most} do on this GPU, where {needs}: leave out grid, "
                f"for {most} blocks that share the work by cuda.gridDim, or let a block take fewer threads, "
                "registers (max_registers of @cuda.jit) or bytes"
            )
        return self


@dataclass(frozen=True)
class LaunchOptions:
    """Options of a wrapper for the extents of a launch: values, or functions of a call as `outs` may be."""

    grid: Any
    block: Any
    launch_dims: Any
    threads_per_block: int
    shared_mem: Any
    cooperative: bool = False

    def __post_init__(self) -> None:
        """Raise KernelDefinitionError for options that no call can have."""
        if any(map(callable, vars(self).values())):
            # Numbers are checked at the call, when the functions have returned them.
            _check_given(self.grid, self.block, self.launch_dims, self.cooperative)
        else:
            LaunchExtents.of(**vars(self))

    def for_call(self, subject: str, ins: Sequence[Any], static: Mapping[str, Any]) -> LaunchExtents:
        """Return the extents for these inputs; raise KernelDefinitionError where no launch can have them."""
        values = {
            name: option_for_call(name, value, lambda extents: extents, subject, ins, static)
            for name, value in vars(self).items()
        }
        try:
            return LaunchExtents.of(**values)
        except KernelDefinitionError as error:
            raise KernelDefinitionError(f"{subject}: {error}") from None


def _check_given(grid: Any, block: Any, launch_dims: Any, cooperative: bool) -> None:
    has_grid = grid is not None or (cooperative and block is not None)
    if has_grid != (block is not None) or has_grid == (launch_dims is not None):
        raise KernelDefinitionError(
            f"grid={grid!r}, block={block!r}, launch_dims={launch_dims!r}: give either grid and block, "
            "or launch_dims; grid may be left out with cooperative=True"
        )


def integers(name: str, value: Any, expected: str, least: int, most: int) -> tuple[int, ...]:
    """Return `value` as a tuple; raise KernelDefinitionError unless it is 1 to `most` integers >= `least`."""
    candidates = value if most > 1 and isinstance(value, Sequence) else [value]
    try:
        # `operator.index` takes a bool for a number.
        numbers = () if bool in map(type, candidates) else tuple(map(operator.index, candidates))
    except TypeError:
        numbers = ()
    if not 1 <= len(numbers) <= most or min(numbers) < least:
        raise KernelDefinitionError(f"{name}={value!r}; expected {expected} >= {least}")
    return numbers


def _dims(name: str, value: Any, least: int) -> tuple[int, ...]:
    return integers(name, value, "one to three integers", least, most=3)


def _filled(dims: Iterable[int]) -> Extents:
    x, y, z = (*dims, 1, 1)[:3]
    return x, y, z
