"""Compile Warp kernels for a GPU, into a registered XLA FFI target that launches them."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import warp as wp

from ffi_bridge.contents.fingerprint import fingerprint
from ffi_bridge.cuda.driver import Cubin, Driver, cuda_driver
from ffi_bridge.cuda.emit import CudaProgram
from ffi_bridge.cuda.extents import MAX_GRID, LaunchExtents
from ffi_bridge.cuda.program import ProgramBuilder, ensure_program_target
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.warp.batch import batch_parameters, batched_kernel, launches_of_batch, takes_batch
from ffi_bridge.warp.compile import compiling, specialised
from ffi_bridge.warp.internals import contents_of, entry_on_cuda, shared_memory
from ffi_bridge.warp.launch import Argument, WarpLaunch, WarpProgram


@dataclass(frozen=True)
class Compiled:
    """A Warp module: the hash of its contents, machine code, and the shared memory that each kernel needs."""

    contents: bytes
    code: bytes
    shared: dict[str, int]


_compiled_modules: Final[dict[tuple[Any, ...], Compiled]] = {}


@dataclass(frozen=True)
class CudaKernel:
    """A kernel as Warp has it and as machine code, and how it is launched."""

    concrete: Any
    contents: bytes
    cubin: Cubin
    extents: LaunchExtents


def ensure_cuda_target(call: WarpProgram) -> str:
    """The target that launches the kernels, or their adjoints, in order; compiled now if it is new."""
    driver = cuda_driver()
    with compiling:
        wp.init()
        concrete = [specialised(launch.kernel, launch.types) for launch in call.launches]
        at_once = bool(call.sizes) and all(map(takes_batch, concrete))
        if at_once:
            concrete = [batched_kernel(kernel, len(call.sizes)) for kernel in concrete]
        kernels = [
            _kernel(launch, kernel, driver.capability)
            for launch, kernel in zip(call.launches, concrete, strict=True)
        ]
    contents = fingerprint(
        [
            (kernel.contents, kernel.cubin.entry, repr((launch.dims, launch.parameters, kernel.extents)))
            for launch, kernel in zip(call.launches, kernels, strict=True)
        ],
        repr((call.buffers, call.sizes)),
        driver.capability,
        wp.__version__,
    )
    return ensure_program_target(
        f"{call.name}.warp.{contents.digest}", driver, lambda: _program(driver, call, kernels, at_once)
    )


def _kernel(launch: WarpLaunch, concrete: Any, capability: tuple[int, int]) -> CudaKernel:
    compiled = _compiled(concrete, capability, launch.block_dim)
    entry = entry_on_cuda(concrete, adjoint=launch.adjoints is not None)
    shared = shared_memory(compiled.shared, entry)
    if shared is None:
        raise launch.without_adjoint()
    cubin = Cubin(compiled.code, entry, launch.kernel, launch.types)
    blocks = _blocks(launch.dims, launch.block_dim)
    return CudaKernel(
        concrete, compiled.contents, cubin, LaunchExtents((blocks, 1, 1), (launch.block_dim, 1, 1), shared)
    )


def _blocks(dims: tuple[int, ...], block_dim: int) -> int:
    """How many blocks: each thread of Warp's takes as many coordinates as there are."""
    return min(-(-math.prod(dims) // block_dim), MAX_GRID[0])


def _program(driver: Driver, call: WarpProgram, kernels: Sequence[CudaKernel], at_once: bool) -> CudaProgram:
    """One launch of each kernel for a whole batch, if all are made for that, or one for every element."""
    program = ProgramBuilder(call.buffers, call.num_inputs)
    add = _add_for_batch if at_once else _add
    for launch, kernel in zip(call.launches, kernels, strict=True):
        loaded = driver.load(kernel.cubin, kernel.extents.shared)
        bounds = program.struct(launch.bounds(kernel.concrete, launch.block_dim))
        add(program, call, launch, kernel.extents, loaded, bounds)
    return program.finish(call.sizes, loop=not at_once)


def _add(
    program: ProgramBuilder,
    call: WarpProgram,
    launch: WarpLaunch,
    extents: LaunchExtents,
    kernel: int,
    bounds: int,
) -> None:
    """Parameters are the bounds and every argument, each by value."""
    given = [number for arguments in launch.parameters for number in _numbers(program, arguments)]
    program.launch(launch.kernel.key, kernel, extents, [bounds, *given])


def _add_for_batch(
    program: ProgramBuilder,
    call: WarpProgram,
    launch: WarpLaunch,
    extents: LaunchExtents,
    kernel: int,
    bounds: int,
) -> None:
    """Pack a launch of a kernel that `batched_kernel` made; an adjoint has every parameter twice."""
    given, unread = _numbers(program, launch.arguments), list[int]()
    if launch.adjoints is not None:
        unread = _numbers(program, [argument.unread() for argument in launch.adjoints])
    strides = launch.batch_strides(call.buffers, call.sizes)
    for first, of_launch in launches_of_batch(extents, call.sizes):
        batch = [program.struct(bytes(x)) for x in batch_parameters(first, call.sizes, strides)]
        again = batch if launch.adjoints is not None else []
        program.launch(launch.kernel.key, kernel, of_launch, [bounds, *given, *batch, *unread, *again])


def _numbers(program: ProgramBuilder, arguments: Sequence[Argument]) -> list[int]:
    """The numbers of the parameters that hold these arguments."""
    numbers = [program.struct(argument.content) for argument in arguments]
    for number, argument in zip(numbers, arguments, strict=True):
        for buffer, offset, displacement in argument.pointers:
            program.point(buffer, number, offset, displacement)
    return numbers


def _compiled(kernel: Any, capability: tuple[int, int], block_dim: int) -> Compiled:
    """The machine code of the kernel's module; compiled again where that has changed."""
    contents = contents_of(kernel, block_dim)
    key = (kernel.module.name, contents, capability)
    if key not in _compiled_modules:
        _compiled_modules[key] = _compile(kernel, capability, contents)
    return _compiled_modules[key]


def _compile(kernel: Any, capability: tuple[int, int], contents: bytes) -> Compiled:
    arch = 10 * capability[0] + capability[1]
    with tempfile.TemporaryDirectory() as folder:
        try:
            wp.compile_aot_module(kernel.module, arch=arch, module_dir=folder, use_ptx=False)
        except Exception as error:
            raise KernelTypeError(f"kernel '{kernel.key}' does not compile: {error}") from error
        (code,) = Path(folder).glob("*.cubin")
        (notes,) = Path(folder).glob("*.meta")
        return Compiled(contents, code.read_bytes(), json.loads(notes.read_text()))
