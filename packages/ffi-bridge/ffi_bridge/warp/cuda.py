"""Compile Warp kernels for a GPU, into a registered XLA FFI target that launches them."""

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import warp as wp

from ffi_bridge import kernel_cache
from ffi_bridge.cuda.cubin import Cubin
from ffi_bridge.cuda.driver import Driver, cuda_driver
from ffi_bridge.cuda.extents import MAX_GRID, LaunchExtents
from ffi_bridge.cuda.program import CudaProgramBuilder, ensure_program_target
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.handler.launch import Program
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.targets import target_name
from ffi_bridge.warp.batch import batch_parameters, batched_kernel, launches_of_batch, takes_batch
from ffi_bridge.warp.compile import compiling, specialised
from ffi_bridge.warp.internals import compiled_for, entry_on_cuda, forget_hash, hash_of_module, shared_memory
from ffi_bridge.warp.launch import Argument, WarpLaunch, WarpProgram

# Machine code or PTX of Warp modules, with Warp's notes on the kernels in them.
_compiled_modules: Final[dict[tuple[Any, ...], kernel_cache.Entry]] = {}


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel as Warp has it and as machine code, and how it is launched."""

    concrete: Any
    module_hash: bytes
    cubin: Cubin
    extents: LaunchExtents


def ensure_cuda_target(call: WarpProgram) -> str:
    """Return the target that launches the kernels, or their adjoints, in order; compile it if it is new."""
    driver = cuda_driver()
    with compiling:
        wp.init()
        concrete = [specialised(launch.kernel, launch.types) for launch in call.launches]
        call.check_stores(concrete)
        at_once = bool(call.sizes) and all(map(takes_batch, concrete))
        if at_once:
            concrete = [batched_kernel(kernel, len(call.sizes)) for kernel in concrete]
            for kernel in concrete:
                forget_hash(kernel)
        kernels = [
            _kernel(launch, kernel, driver) for launch, kernel in zip(call.launches, concrete, strict=True)
        ]
    identity = fingerprint(
        [
            (kernel.module_hash, kernel.cubin.entry, repr((launch.dims, launch.parameters, kernel.extents)))
            for launch, kernel in zip(call.launches, kernels, strict=True)
        ],
        repr((call.buffers, call.sizes)),
        driver.capability,
        wp.__version__,
    )
    return ensure_program_target(
        target_name(call.name, "warp", identity.digest),
        driver,
        lambda: _program(driver, call, kernels, at_once),
    )


def _kernel(launch: WarpLaunch, concrete: Any, driver: Driver) -> BuiltKernel:
    module_hash, module = _compiled(concrete, driver, launch.block_dim)
    entry = entry_on_cuda(concrete, adjoint=launch.adjoints is not None)
    shared = shared_memory(module.facts, entry)
    if shared is None:
        raise launch.without_adjoint()
    code, ptx = (b"", module.code) if driver.reads_ptx else (module.code, b"")
    cubin = Cubin(code, entry, launch.kernel, launch.types, ptx)
    # Warp's threads loop where a grid cannot have enough blocks.
    blocks = min(-(-math.prod(launch.dims) // launch.block_dim), MAX_GRID[0])
    return BuiltKernel(
        concrete, module_hash, cubin, LaunchExtents((blocks, 1, 1), (launch.block_dim, 1, 1), shared)
    )


def _program(driver: Driver, call: WarpProgram, kernels: Sequence[BuiltKernel], at_once: bool) -> Program:
    """Lay out one launch of each kernel, for a whole batch at once or for one element of it."""
    program = CudaProgramBuilder(driver, call.buffers, call.num_inputs, call.aliases)
    for launch, kernel in zip(call.launches, kernels, strict=True):
        bounds = program.struct(launch.bounds(kernel.concrete, launch.block_dim))
        arguments, adjoints = _numbers(program, launch.arguments), launch.adjoints or ()
        if not at_once:
            parameters = [bounds, *arguments, *_numbers(program, adjoints)]
            program.launch(launch.kernel.key, kernel.cubin, kernel.extents, parameters)
            continue
        unread = _numbers(program, [argument.unread() for argument in adjoints])
        strides = launch.batch_strides(call.buffers, call.sizes)
        for first, extents in launches_of_batch(kernel.extents, call.sizes):
            batch = [program.struct(bytes(x)) for x in batch_parameters(first, call.sizes, strides)]
            again = [] if launch.adjoints is None else batch  # an adjoint has every parameter twice
            parameters = [bounds, *arguments, *batch, *unread, *again]
            program.launch(launch.kernel.key, kernel.cubin, extents, parameters)
    return program.finish(call.sizes, loop=not at_once)


def _numbers(program: CudaProgramBuilder, arguments: Sequence[Argument]) -> list[int]:
    """Add parameters that hold these arguments, and return their numbers."""
    return [program.struct(argument.content, argument.pointers) for argument in arguments]


def machine_code(cubin: Cubin, driver: Driver, block_dim: int) -> bytes:
    """Return the machine code that holds a kernel, for a driver that does not read PTX.

    `cubin`: the kernel as another driver got it, not for a batch.
    """
    with compiling:
        return _compiled(specialised(cubin.kernel, cubin.arguments), driver, block_dim)[1].code


def _compiled(kernel: Any, driver: Driver, block_dim: int) -> tuple[bytes, kernel_cache.Entry]:
    """Return the hash of a module's contents, and the module: known, from the kernel cache, or compiled."""
    module_hash = hash_of_module(kernel, block_dim)
    key = (kernel.module.name, module_hash, driver.capability, driver.reads_ptx)
    if key not in _compiled_modules:
        digest = fingerprint((kernel_cache.own_sources(), wp.__version__), key).digest
        module = kernel_cache.load(digest)
        # Notes that nobody here wrote are not trusted.
        if module is None or not all(isinstance(note, int) for note in module.facts.values()):
            module = _compile(kernel, driver, block_dim)
            kernel_cache.store(digest, module)
        _compiled_modules[key] = module
    return module_hash, _compiled_modules[key]


def _compile(kernel: Any, driver: Driver, block_dim: int) -> kernel_cache.Entry:
    """Compile a kernel's module to machine code, or to PTX, and return it with Warp's notes."""
    arch = 10 * driver.capability[0] + driver.capability[1]
    with tempfile.TemporaryDirectory() as folder, compiled_for(kernel, block_dim, driver.reads_ptx):
        try:
            wp.compile_aot_module(kernel.module, arch=arch, module_dir=folder, use_ptx=driver.reads_ptx)
        except Exception as error:
            raise KernelTypeError(f"kernel '{kernel.key}' does not compile: {error}") from error
        (code,) = Path(folder).glob("*.ptx" if driver.reads_ptx else "*.cubin")
        (notes,) = Path(folder).glob("*.meta")
        return kernel_cache.Entry(json.loads(notes.read_text()), code.read_bytes())
