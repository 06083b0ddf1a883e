"""Launches of CUDA kernels over the buffers of one call, as a program for a native handler."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ffi_bridge.cuda.driver import Driver
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.cuda.program import CudaProgramBuilder
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.handler.launch import Program
from ffi_bridge.native.buffers import BufferSpec, contiguous
from ffi_bridge.numba_cuda.compile import array_type, compile_kernel, compiler_of
from ffi_bridge.numba_cuda.entry import batch_blocks, batched_kernel, uses_third_axis
from ffi_bridge.numba_cuda.toolchain import ArgumentType, Compiler


@dataclass(frozen=True)
class View:
    """Elements of a buffer that a kernel takes as an array; of one element of a batch, if there is one."""

    buffer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    displacement: int = 0  # bytes

    @classmethod
    def whole(cls, buffer: int, spec: BufferSpec) -> View:
        """Return the view of all of a buffer."""
        return cls(buffer, spec.shape, contiguous(spec.shape, np.dtype(spec.dtype).itemsize))


@dataclass(frozen=True)
class KernelLaunch:
    """A launch of a dispatcher; arguments are views or numbers of NumPy."""

    dispatcher: Any
    extents: LaunchExtents
    arguments: tuple[Any, ...]


def program_of(
    driver: Driver,
    launches: Sequence[KernelLaunch],
    buffers: Sequence[BufferSpec],
    num_inputs: int,
    aliases: Sequence[tuple[int, int]],
    sizes: tuple[int, ...],
) -> Program:
    """Compile and load every kernel, and lay out its arguments; `sizes`: extents of the batch levels.

    Each launch takes the whole batch along the third axis of its grid, unless a kernel has a use for that, or
    its blocks wait for each other: then the handler goes through the batch, and launches them all for each
    element.
    """
    at_once = bool(sizes) and not any(
        launch.extents.cooperative or launch.extents.grid[2] > 1 or uses_third_axis(launch.dispatcher.py_func)
        for launch in launches
    )
    program = CudaProgramBuilder(driver, buffers, num_inputs, aliases)
    writable = frozenset({*range(num_inputs, len(buffers)), *dict(aliases)})
    for launch in launches:
        _add(program, driver, launch, buffers, writable, sizes if at_once else ())
    return program.finish(sizes, loop=not at_once)


def _add(
    program: CudaProgramBuilder,
    driver: Driver,
    launch: KernelLaunch,
    buffers: Sequence[BufferSpec],
    writable: frozenset[int],
    sizes: tuple[int, ...],
) -> None:
    kernel, extents = launch.dispatcher, launch.extents
    if sizes:
        steps = tuple(_steps(x, buffers, sizes) for x in launch.arguments)
        ranks = tuple(len(x.shape) for x in launch.arguments)
        kernel = batched_kernel(kernel, sizes, steps, ranks)
        # The third axis is free: launches that use it are repeated element by element.
        extents = replace(extents, grid=(*extents.grid[:2], batch_blocks(sizes)))
    arguments = [
        _with_batch(x, buffers[x.buffer], sizes) if isinstance(x, View) else x for x in launch.arguments
    ]
    kinds = [_kind(launch.dispatcher.__name__, x, buffers, writable) for x in arguments]
    cubin = compile_kernel(kernel, kinds, driver.capability, with_ptx=driver.reads_ptx)
    if cubin.synchronises_grid and not extents.cooperative:
        raise KernelTypeError(
            f"kernel '{launch.dispatcher.__name__}' synchronises its whole grid, which needs a cooperative "
            "launch: give numba_cuda_kernel(..., cooperative=True), or split it into two kernels"
        )
    compiler = compiler_of(kernel)
    parameters = [number for x in arguments for number in _parameters(compiler, program, x, buffers)]
    program.launch(launch.dispatcher.__name__, cubin, extents, parameters)


def _steps(argument: Any, buffers: Sequence[BufferSpec], sizes: tuple[int, ...]) -> tuple[int | None, ...]:
    """Return, for every batch level, an argument's stride in elements; None where it lacks the axis."""
    if not isinstance(argument, View):
        return (None,) * len(sizes)
    spec = buffers[argument.buffer]
    strides = iter(spec.batch_strides(sizes))
    return tuple(next(strides) // np.dtype(spec.dtype).itemsize if has else None for has in spec.batched)


def _with_batch(view: View, spec: BufferSpec, sizes: tuple[int, ...]) -> View:
    """Return the view of all elements of a batch, whose axes come first."""
    if not sizes:
        return view
    shape, strides = spec.batch_shape(sizes), spec.batch_strides(sizes)
    return replace(view, shape=(*shape, *view.shape), strides=(*strides, *view.strides))


def _kind(
    kernel: str, argument: Any, buffers: Sequence[BufferSpec], writable: frozenset[int]
) -> ArgumentType:
    """Return the type of an argument."""
    if not isinstance(argument, View):
        return argument.dtype
    spec = buffers[argument.buffer]
    array = array_type(
        kernel, spec.name, spec.dtype, len(argument.shape), readonly=argument.buffer not in writable
    )
    whole = contiguous(argument.shape, np.dtype(spec.dtype).itemsize)
    return replace(array, contiguous=argument.strides == whole)


def _parameters(
    compiler: Compiler, program: CudaProgramBuilder, argument: Any, buffers: Sequence[BufferSpec]
) -> list[int]:
    """Add an argument's parameters, several of eight bytes for an array, and return their numbers."""
    if not isinstance(argument, View):
        return [program.struct(part) for part in compiler.number(argument)]
    itemsize = np.dtype(buffers[argument.buffer].dtype).itemsize
    words = compiler.array(argument.shape, argument.strides, itemsize)
    address = (argument.buffer, 0, argument.displacement)
    # The address, None, is the one word that a call fills in.
    return [program.struct(struct.pack("<q", word or 0), [address] * (word is None)) for word in words]
