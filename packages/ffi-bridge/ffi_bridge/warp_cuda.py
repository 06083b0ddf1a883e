"""Compile a Warp kernel for a GPU, into a registered XLA FFI target that launches it."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import warp as wp

from ffi_bridge.cuda_driver import Cubin, cuda_driver
from ffi_bridge.cuda_program import ProgramBuilder, ensure_program_target
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.fingerprint import fingerprint
from ffi_bridge.handler.cuda import CudaProgram
from ffi_bridge.launch_extents import MAX_GRID, LaunchExtents
from ffi_bridge.warp_batch import batch_parameters, batched_kernel, launches_of_batch, takes_batch
from ffi_bridge.warp_compile import Pointer, WarpCall, compiling, specialised


@dataclass(frozen=True)
class Compiled:
    """A Warp module: the hash of its contents, machine code, and the shared memory that each kernel needs."""

    contents: bytes
    code: bytes
    shared: dict[str, int]


_compiled_modules: Final[dict[tuple[Any, ...], Compiled]] = {}


def ensure_cuda_target(call: WarpCall, block_dim: int) -> str:
    """The target that launches the kernel, or its adjoint, on these buffers; compiled now if it is new."""
    driver = cuda_driver()
    types = call.types()
    with compiling:
        wp.init()
        kernel = specialised(call.kernel, types)
        at_once = bool(call.sizes) and takes_batch(kernel)
        if at_once:
            kernel = batched_kernel(kernel, len(call.sizes))
        compiled = _compiled(kernel, driver.capability, block_dim)
        direction = "forward" if call.roles.adjoints is None else "backward"
        entry = f"{kernel.get_mangled_name()}_cuda_kernel_{direction}"
        shared = compiled.shared.get(f"{entry}_smem_bytes")
        if shared is None:
            raise call.without_adjoint()
        cubin = Cubin(compiled.code, entry, call.kernel, tuple(types))
        extents = LaunchExtents((_blocks(call.dims, block_dim), 1, 1), (block_dim, 1, 1), shared)
        contents = fingerprint(
            compiled.contents, entry, repr((call.buffers, call.sizes, call.dims, extents)),
            repr(sorted(call.statics.items())), driver.capability, wp.__version__,
        )  # fmt: skip
    build = _program_of_batch if at_once else _program
    return ensure_program_target(
        f"{call.kernel.key}.warp.{contents.digest}",
        driver,
        lambda: build(call, kernel, types, driver.load(cubin, shared), extents),
    )


def _blocks(dims: tuple[int, ...], block_dim: int) -> int:
    """How many blocks: each thread of Warp's takes as many coordinates as there are."""
    return min(-(-math.prod(dims) // block_dim), MAX_GRID[0])


def _program(
    call: WarpCall, concrete: Any, types: list[Any], kernel: int, extents: LaunchExtents
) -> CudaProgram:
    """One launch per element of a batch; parameters are the bounds and every argument, each by value."""
    program = ProgramBuilder(call.buffers, call.num_inputs)
    parameters = [program.struct(call.bounds(concrete, extents.block[0]))]
    for chosen, pointers in call.passed():
        parameters += _arguments(program, call.values(concrete, types, chosen), pointers)
    program.launch(call.kernel.key, kernel, extents, parameters)
    return program.finish(call.sizes, loop=True)


def _program_of_batch(
    call: WarpCall, concrete: Any, types: list[Any], kernel: int, extents: LaunchExtents
) -> CudaProgram:
    """One launch for a whole batch of a kernel made for that; the adjoint's has every parameter twice."""
    program = ProgramBuilder(call.buffers, call.num_inputs)
    bounds = program.struct(call.bounds(concrete, extents.block[0]))
    (chosen, pointers), *of_adjoints = call.passed()
    given = _arguments(program, call.values(concrete, types, chosen), pointers)
    unread = _arguments(program, call.values(concrete, types, {}), []) if of_adjoints else []
    strides = [call.batch_strides(i) for i in sorted(chosen)]
    for first, of_launch in launches_of_batch(extents, call.sizes):
        batch = _arguments(program, batch_parameters(first, call.sizes, strides), [])
        again = batch if of_adjoints else []
        program.launch(call.kernel.key, kernel, of_launch, [bounds, *given, *batch, *unread, *again])
    return program.finish(call.sizes, loop=False)


def _arguments(program: ProgramBuilder, values: Sequence[Any], pointers: Sequence[Pointer]) -> list[int]:
    """The numbers of the parameters that hold these C values."""
    numbers = [program.struct(bytes(value)) for value in values]
    for position, buffer, offset in pointers:
        program.point(buffer, numbers[position], offset)
    return numbers


def _compiled(kernel: Any, capability: tuple[int, int], block_dim: int) -> Compiled:
    """The machine code of the kernel's module; compiled again where that has changed."""
    module = kernel.module
    module.options["block_dim"] = block_dim
    contents = bytes(module.get_module_hash(block_dim))
    key = (module.name, contents, capability)
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
