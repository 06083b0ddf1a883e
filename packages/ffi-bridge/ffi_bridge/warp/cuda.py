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
class BuiltModule:
    """A Warp module: the hash of its contents, machine code, and Warp's notes on the kernels in it."""

    contents: bytes
    code: bytes
    notes: dict[str, int]


_compiled_modules: Final[dict[tuple[Any, ...], BuiltModule]] = {}


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel as Warp has it and as machine code, and how it is launched."""

    concrete: Any
    contents: bytes
    cubin: Cubin
    extents: LaunchExtents


def ensure_cuda_target(call: WarpProgram) -> str:
    """Return the target that launches the kernels, or their adjoints, in order; compile it if it is new."""
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


def _kernel(launch: WarpLaunch, concrete: Any, capability: tuple[int, int]) -> BuiltKernel:
    module = _compiled(concrete, capability, launch.block_dim)
    entry = entry_on_cuda(concrete, adjoint=launch.adjoints is not None)
    shared = shared_memory(module.notes, entry)
    if shared is None:
        raise launch.without_adjoint()
    cubin = Cubin(module.code, entry, launch.kernel, launch.types)
    blocks = _blocks(launch.dims, launch.block_dim)
    return BuiltKernel(
        concrete, module.contents, cubin, LaunchExtents((blocks, 1, 1), (launch.block_dim, 1, 1), shared)
    )


def _blocks(dims: tuple[int, ...], block_dim: int) -> int:
    """Return the number of blocks; Warp's threads loop where a grid cannot have enough."""
    return min(-(-math.prod(dims) // block_dim), MAX_GRID[0])


def _program(driver: Driver, call: WarpProgram, kernels: Sequence[BuiltKernel], at_once: bool) -> CudaProgram:
    """Lay out one launch of each kernel, for a whole batch at once or for one element of it."""
    program = ProgramBuilder(call.buffers, call.num_inputs)
    for launch, kernel in zip(call.launches, kernels, strict=True):
        loaded = driver.load(kernel.cubin, kernel.extents.shared)
        bounds = program.struct(launch.bounds(kernel.concrete, launch.block_dim))
        given, adjoints = _numbers(program, launch.arguments), launch.adjoints or ()
        if not at_once:
            parameters = [bounds, *given, *_numbers(program, adjoints)]
            program.launch(launch.kernel.key, loaded, kernel.extents, parameters)
            continue
        unread = _numbers(program, [argument.unread() for argument in adjoints])
        strides = launch.batch_strides(call.buffers, call.sizes)
        for first, extents in launches_of_batch(kernel.extents, call.sizes):
            batch = [program.struct(bytes(x)) for x in batch_parameters(first, call.sizes, strides)]
            again = [] if launch.adjoints is None else batch  # an adjoint has every parameter twice
            parameters = [bounds, *given, *batch, *unread, *again]
            program.launch(launch.kernel.key, loaded, extents, parameters)
    return program.finish(call.sizes, loop=not at_once)


def _numbers(program: ProgramBuilder, arguments: Sequence[Argument]) -> list[int]:
    """Add parameters that hold these arguments, and return their numbers."""
    numbers = [program.struct(argument.content) for argument in arguments]
    for number, argument in zip(numbers, arguments, strict=True):
        for buffer, offset, displacement in argument.pointers:
            program.point(buffer, number, offset, displacement)
    return numbers


def _compiled(kernel: Any, capability: tuple[int, int], block_dim: int) -> BuiltModule:
    """Compile a kernel's module, unless that was done and its contents are the same."""
    contents = contents_of(kernel, block_dim)
    key = (kernel.module.name, contents, capability)
    if key not in _compiled_modules:
        _compiled_modules[key] = _compile(kernel, capability, contents)
    return _compiled_modules[key]


def _compile(kernel: Any, capability: tuple[int, int], contents: bytes) -> BuiltModule:
    arch = 10 * capability[0] + capability[1]
    with tempfile.TemporaryDirectory() as folder:
        try:
            wp.compile_aot_module(kernel.module, arch=arch, module_dir=folder, use_ptx=False)
        except Exception as error:
            raise KernelTypeError(f"kernel '{kernel.key}' does not compile: {error}") from error
        (code,) = Path(folder).glob("*.cubin")
        (notes,) = Path(folder).glob("*.meta")
        return BuiltModule(contents, code.read_bytes(), json.loads(notes.read_text()))
