"""Compile a Warp kernel for a GPU, into a registered XLA FFI target that launches it."""

from __future__ import annotations

import json
import math
import tempfile
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
from ffi_bridge.warp_compile import WarpCall, compiling, specialised
from ffi_bridge.warp_parameters import DATA_OFFSET, launch_bounds


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
        concrete = specialised(call.kernel, types)
        compiled = _compiled(concrete, driver.capability, block_dim)
        direction = "forward" if call.roles.adjoints is None else "backward"
        entry = f"{concrete.get_mangled_name()}_cuda_kernel_{direction}"
        shared = compiled.shared.get(f"{entry}_smem_bytes")
        if shared is None:
            raise call.without_adjoint()
        cubin = Cubin(compiled.code, entry, call.kernel, tuple(types))
        extents = LaunchExtents((_blocks(call.dims, block_dim), 1, 1), (block_dim, 1, 1), shared)
        digest = fingerprint(
            compiled.contents, entry, repr((call.buffers, call.sizes, call.dims, extents)),
            repr(sorted(call.statics.items())), driver.capability, wp.__version__,
        )  # fmt: skip
    return ensure_program_target(
        f"{call.kernel.key}.warp.{digest}",
        driver,
        lambda: _program(call, concrete, types, driver.load(cubin, shared), extents),
    )


def _blocks(dims: tuple[int, ...], block_dim: int) -> int:
    """How many blocks: each thread of Warp's takes as many coordinates as there are."""
    return min(-(-math.prod(dims) // block_dim), MAX_GRID[0])


def _program(
    call: WarpCall, concrete: Any, types: list[Any], kernel: int, extents: LaunchExtents
) -> CudaProgram:
    """One launch per element of a batch; parameters are the bounds and every argument, each by value."""
    program = ProgramBuilder(call.buffers, call.num_inputs)
    parameters = [program.struct(launch_bounds(call.dims, concrete.adj.kernel_dim))]
    for chosen in call.passed():
        for position, value in enumerate(call.values(concrete, types, chosen)):
            parameters.append(program.struct(bytes(value)))
            if position in chosen:
                program.point(chosen[position], parameters[-1], DATA_OFFSET)
    program.launch(call.kernel.key, kernel, extents, parameters)
    return program.finish(call.sizes, loop=True)


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
