"""Launches of Warp kernels: every parameter as C has it, with places for the addresses of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ffi_bridge.cuda.extents import LaunchExtents, integers
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.buffers import BufferSpec, Pointer
from ffi_bridge.warp.analysis import stores_of
from ffi_bridge.warp.internals import array_t, launch_bounds, parameters_of

DATA_OFFSET: Final[int] = array_t.data.offset
GRAD_OFFSET: Final[int] = array_t.grad.offset

BLOCK_DIM: Final = 256  # Warp's own default

Strides = tuple[int, ...]


def launch_dims(name: str, dims: Any) -> tuple[int, ...]:
    """Return launch dimensions as Warp takes them; raise KernelDefinitionError where they do not fit."""
    return integers(name, dims, "one to four integers", 0, most=4)


def threads_of_block(block_dim: Any) -> int:
    """Return `block_dim`, or the default for None; raise KernelDefinitionError for more than a GPU has."""
    if block_dim is None:
        return BLOCK_DIM
    (threads,) = integers("block_dim", block_dim, "a number of threads", 1, most=1)
    # Extents refuse more threads than a GPU has in a block.
    return LaunchExtents((1, 1, 1), (threads, 1, 1), 0).block[0]


@dataclass(frozen=True)
class Argument:
    """A C value, and the pointers in it: an array has one to its data, and may have one to its adjoint."""

    ctype: Any = field(repr=False)
    content: bytes
    pointers: tuple[Pointer, ...] = ()

    @classmethod
    def of(cls, value: Any, *pointers: Pointer) -> Argument:
        """Return the argument that is this C value."""
        return cls(type(value), bytes(value), pointers)

    @property
    def is_array(self) -> bool:
        return self.ctype is array_t

    def value(self) -> Any:
        """Return the C value, with no address in it."""
        return self.ctype.from_buffer_copy(self.content)

    def unread(self) -> Argument:
        """Return an argument to pass in its place where a kernel does not read it."""
        return Argument.of(array_t()) if self.is_array else self


@dataclass(frozen=True)
class WarpLaunch:
    """A launch of a kernel, or of its adjoint: Warp's types of the parameters, and the arguments.

    `is_tiled`: the last dimension is the threads of a block, as in `wp.launch_tiled`.
    """

    kernel: Any  # a warp.Kernel
    types: tuple[Any, ...]
    dims: tuple[int, ...]
    block_dim: int
    arguments: tuple[Argument, ...]
    adjoints: tuple[Argument, ...] | None = None
    is_tiled: bool = False

    @property
    def parameters(self) -> tuple[tuple[Argument, ...], ...]:
        """Return the arguments; in a launch of the adjoint also the adjoint's."""
        return (self.arguments,) if self.adjoints is None else (self.arguments, self.adjoints)

    def bounds(self, concrete: Any, block_dim: int) -> bytes:
        """Return Warp's struct for the dimensions; raise KernelTypeError where they are beyond `wp.tid()`."""
        # On the CPU a block has one thread, whatever the user's dimensions say.
        dims = (*self.dims[:-1], block_dim) if self.is_tiled else self.dims
        try:
            return launch_bounds(dims, concrete, block_dim)
        except ValueError as error:
            raise KernelTypeError(
                f"kernel '{self.kernel.key}': launch dimensions {self.dims}: {error} Give it fewer threads, "
                "each of which does more"
            ) from error

    def batch_strides(
        self, buffers: Sequence[BufferSpec], sizes: Sequence[int]
    ) -> list[tuple[Strides, Strides]]:
        """Return the bytes between elements of each batch level, for each array and its adjoint."""

        def strides(argument: Argument, offset: int) -> Strides | None:
            numbers = [buffer for buffer, place, _ in argument.pointers if place == offset]
            return buffers[numbers[0]].with_slots((), sizes).strides if numbers else None

        of_arrays = [argument for argument in self.arguments if argument.is_array]
        array_strides = [strides(argument, DATA_OFFSET) or (0,) * len(sizes) for argument in of_arrays]
        # Without an adjoint nothing is moved by the second strides.
        return [(s, strides(a, GRAD_OFFSET) or s) for s, a in zip(array_strides, of_arrays, strict=True)]

    def without_adjoint(self) -> KernelDefinitionError:
        """Return the error of a kernel without an adjoint."""
        return KernelDefinitionError(
            f"kernel '{self.kernel.key}' has no adjoint; remove enable_backward=False from it or its module"
        )


@dataclass(frozen=True)
class WarpProgram:
    """Launches in order, over the buffers of one call, inputs first; `sizes`: extents of the batch levels.

    `results`: the buffers that only the launches fill, and that the caller sees.
    """

    name: str
    launches: tuple[WarpLaunch, ...]
    buffers: tuple[BufferSpec, ...]
    num_inputs: int
    aliases: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    results: tuple[int, ...]

    @property
    def read(self) -> tuple[int, ...]:
        """Return the inputs that share no memory with an output."""
        return tuple(i for i in range(self.num_inputs) if i not in dict(self.aliases))

    def check_stores(self, concrete: Sequence[Any]) -> None:
        """Raise KernelTypeError where a launch stores to an input, or none to an output.

        `concrete`: the kernels without type parameters. Adjoints add to outputs alone.
        """
        open_results = set(self.results)
        for launch, kernel in zip(self.launches, concrete, strict=True):
            if launch.adjoints is not None:
                return
            stores = stores_of(kernel)
            for (name, _), argument in zip(parameters_of(kernel), launch.arguments, strict=True):
                buffers = [i for i, place, _ in argument.pointers if place == DATA_OFFSET]
                inputs = [i for i in buffers if i in self.read]
                if name in stores.written and inputs:
                    raise KernelTypeError(
                        f"kernel '{kernel.key}' writes into '{name}', which is the input "
                        f"'{self.buffers[inputs[0]].name}' of the call; inputs are read-only: write into an "
                        "output, or name the input in in_out_argnames"
                    )
                if name not in stores.unwritten and 0 not in launch.dims:
                    open_results.difference_update(buffers)
        if open_results:
            raise KernelTypeError(
                f"'{self.name}' never stores to its output '{self.buffers[min(open_results)].name}', which "
                "would hold whatever was in its memory; write its elements, or name it in in_out_argnames, "
                "so that it begins as an input"
            )
