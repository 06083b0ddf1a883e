"""Run Triton's calls on the emulated GPU: jax-triton compiles a kernel, whose PTX runs on the CPU.

The inner names of jax-triton are here alone. Importing this module gives its calls a lowering on JAX's CPU;
the first call finds out whether this jax-triton has what is needed.
"""

import copy
import functools
import hashlib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, SimpleNamespace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import mlir

from ffi_bridge.cuda.cubin import Cubin
from ffi_bridge.cuda.driver import cuda_driver
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.cuda.program import CudaProgramBuilder, ensure_program_target
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.handler.launch import Program
from ffi_bridge.native.buffers import BufferSpec
from ffi_bridge.native.private_api import look_up, private_api

TESTED: Final = (0, 3)

# By name, as type checkers run where it is not installed, too.
_package: Any = importlib.import_module("jax_triton")
_library: Any = importlib.import_module("jax_triton.triton_lib")
WARP: Final = 32
SCRATCH: Final = 2  # pointers to memory for a kernel's own use and for profiles, null where none is asked for
# The dtypes of numbers, by the names that jax-triton gives them; its "B" of a bool is none of Triton's.
NUMBERS: Final = {"i32": "i4", "i64": "i8", "u32": "u4", "u64": "u8", "fp32": "f4", "fp64": "f8"}


@dataclass(frozen=True)
class TritonKernel:
    """A kernel that Triton has compiled; jax-triton gives its fields to a kernel of XLA's."""

    name: str
    num_warps: int
    num_ctas: int
    shared: int
    ptx: str
    ttir: str
    capability: int

    @property
    def num_parameters(self) -> int:
        """Return how many parameters it takes: Triton's pointers to scratch memory are behind the user's."""
        header = re.search(rf"\.entry\s+{re.escape(self.name)}\s*\(([^)]*)\)", self.ptx)
        return header[1].count(".param") if header else 0


@functools.cache
def _compiler() -> Callable[..., tuple[TritonKernel, Any]]:
    """Return jax-triton's function that compiles kernels, with a separate cache and kernels of ours.

    Those of jax-triton are for XLA on a GPU, and other threads may be making some.
    """
    with private_api("jax-triton", _package.__version__, TESTED):
        look_up(_library, "autotuner", "get_cuda_backend", "get_triton_type", "normalize_grid", "triton")
        look_up(_library, "triton_kernel_call_lib", "_COMPILED_KERNEL_CACHE")
        theirs = _library.get_or_create_triton_kernel
    ours = {
        "triton_kernel_call_lib": SimpleNamespace(TritonKernel=TritonKernel),
        "_COMPILED_KERNEL_CACHE": {},
    }
    compiler = FunctionType(theirs.__code__, vars(_library) | ours)
    # `FunctionType` does not take over the defaults of keywords.
    compiler.__kwdefaults__ = theirs.__kwdefaults__
    return compiler


@dataclass(frozen=True)
class TritonCall:
    """A launch of a kernel.

    `numbers`: position -> (type, value) of the arguments that are no arrays. `aliases`: input -> the output
    that takes its place; zeros for outputs that begin so come behind the inputs of the user.
    """

    fn: Any
    kernel: TritonKernel
    grid: tuple[int, int, int]
    numbers: Mapping[int, tuple[str, Any]]
    aliases: Mapping[int, int]

    def ensure_target(self, ins: Sequence[Any], zeros: Sequence[Any], outs: Sequence[Any]) -> str:
        """Return the target that launches it on arrays like these."""
        shapes = [(tuple(x.shape), str(x.dtype)) for x in (*ins, *zeros, *outs)]
        key = (self.kernel.ptx, self.grid, self.numbers, self.aliases, shapes, len(ins))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
        name = f"{self.fn.__name__}.triton.{digest}"
        return ensure_program_target(name, cuda_driver(), lambda: self._program(ins, zeros, outs))

    def _program(self, ins: Sequence[Any], zeros: Sequence[Any], outs: Sequence[Any]) -> Program:
        names: list[str] = list(self.fn.arg_names)
        count = len(ins) + len(self.numbers) + len(outs)
        arrays = [names[i] for i in range(count) if i not in self.numbers]
        labels = [*arrays[: len(ins)], *(f"zeros {i}" for i in range(len(zeros))), *arrays[len(ins) :]]
        labelled = zip(labels, (*ins, *zeros, *outs), strict=True)
        specs = [BufferSpec(label, x.dtype, tuple(x.shape), ()) for label, x in labelled]
        program = CudaProgramBuilder(cuda_driver(), specs, len(ins) + len(zeros), tuple(self.aliases.items()))
        buffers = iter([*range(len(ins)), *range(len(ins) + len(zeros), len(specs))])
        parameters: list[int] = []
        for i in range(count):
            if i not in self.numbers:
                parameters.append(program.struct(bytes(8), [(next(buffers), 0, 0)]))
                continue
            kind, value = self.numbers[i]
            if value != 1:  # else it is a constant
                parameters.append(program.struct(np.dtype(NUMBERS[kind]).type(value).tobytes()))
        expected = self.kernel.num_parameters - SCRATCH
        if len(parameters) != expected:
            raise KernelTypeError(
                f"Triton kernel '{self.fn.__name__}' takes {expected} parameters as compiled, and the call "
                f"has {len(parameters)}: {', '.join(names[:count])}"
            )
        parameters += [program.struct(bytes(8)) for _ in range(SCRATCH)]
        extents = LaunchExtents(self.grid, (WARP * self.kernel.num_warps, 1, 1), self.kernel.shared)
        cubin = Cubin(b"", self.kernel.name, self.fn, (), self.kernel.ptx.encode())
        program.launch(self.fn.__name__, cubin, extents, parameters)
        return program.finish((), loop=False)


def _lower(
    ctx: Any,
    *arrays: Any,
    fn: Any,
    scalar_args: Sequence[tuple[int, str, Any]],
    out_shapes: Sequence[Any],
    grid: Any,
    compute_capability: int | None,
    input_output_aliases: Sequence[tuple[int, int]],
    zeroed_outputs: Any,
    **options: Any,
) -> Any:
    """Lower a call to a launch by the emulated GPU."""
    compile_kernel = _compiler()
    arguments: list[Any] = [*ctx.avals_in]
    kinds: list[str] = list(map(_library.get_triton_type, arguments))
    for place, kind, value in scalar_args:
        arguments.insert(place, value)
        kinds.insert(place, kind)
    arguments += ctx.avals_out
    kinds += map(_library.get_triton_type, ctx.avals_out)
    # They are for the target of XLA on a GPU, in whose place ours is called.
    for unused in ("name", "custom_call_target_name", "serialized_metadata"):
        del options[unused]
    settings = {key: options.pop(key) for key in ("num_warps", "num_stages", "num_ctas", "enable_fp_fusion")}
    settings["dump"] = options.pop("debug")
    fn, settings, meta = _configured(fn, arguments, settings, options)
    if settings["num_ctas"] != 1:
        raise KernelTypeError(
            f"Triton kernel '{fn.__name__}' asks for clusters of {settings['num_ctas']} blocks (num_ctas); "
            "the emulated GPU has none"
        )
    for place, kind, value in scalar_args:
        if kind not in NUMBERS and value != 1:  # 1 and True are constants
            raise KernelTypeError(
                f"argument {place} of Triton kernel '{fn.__name__}' is {value}; jax-triton passes no bools: "
                f"pass {int(value)}, or make it a tl.constexpr"
            )
    major, minor = cuda_driver().capability
    settings["compute_capability"] = compute_capability or 10 * major + minor
    kernel, _ = compile_kernel(
        _library.get_cuda_backend, "cuda", fn, kinds, scalar_args, metaparams=meta, **settings
    )
    chosen: Any = zeroed_outputs(meta) if callable(zeroed_outputs) else zeroed_outputs
    # An output that begins as an input is not zero.
    zeroed = sorted(set(chosen) - {out for _, out in input_output_aliases})
    aliases = dict(input_output_aliases) | {len(arrays) + i: out for i, out in enumerate(zeroed)}
    numbers = {place: (kind, value) for place, kind, value in scalar_args}
    call = TritonCall(fn, kernel, tuple(_library.normalize_grid(grid, meta)), numbers, aliases)
    outs = [jax.ShapeDtypeStruct(out.shape, out.dtype) for out in out_shapes]

    def run(*xs: Any) -> Any:
        zeros = [jnp.zeros(outs[i].shape, outs[i].dtype) for i in zeroed]
        target = call.ensure_target(xs, zeros, outs)
        return jax.ffi.ffi_call(target, outs, input_output_aliases=aliases)(*xs, *zeros)

    return mlir.lower_fun(run, multiple_results=True)(ctx, *arrays)


def _configured(
    fn: Any, arguments: Sequence[Any], settings: dict[str, Any], meta: dict[str, Any]
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the function without autotuner and heuristics, how it is compiled, and its constants.

    Of an autotuner, the first configuration that it would try is taken: nothing is timed here.
    """
    # Parameters without an argument are constants, which come by keyword.
    named = dict(zip(fn.arg_names, arguments, strict=False))
    if isinstance(fn, _library.autotuner.Autotuner):
        config = _first_configuration(fn, named, meta)
        settings = settings | {key: getattr(config, key) for key in ("num_warps", "num_stages", "num_ctas")}
        fn, meta = fn.fn, meta | config.kwargs
    if isinstance(fn, _library.autotuner.Heuristics):
        # In order: a heuristic may read the constants that those before it have set.
        for key, heuristic in fn.values.items():
            meta = meta | {key: heuristic({**named, **meta})}
        fn = fn.fn
    if not isinstance(fn, _library.triton.JITFunction):
        raise KernelTypeError(
            f"triton_call takes a function with @triton.jit, also below @triton.autotune or "
            f"@triton.heuristics; kernel is {fn!r}, a {type(fn).__name__}"
        )
    return fn, settings, meta


def _first_configuration(tuner: Any, named: Mapping[str, Any], meta: Mapping[str, Any]) -> Any:
    """Return the first configuration that agrees with the constants of the call, and that is not pruned."""
    name = tuner.fn.__name__
    if any(config.pre_hook is not None for config in tuner.configs):
        raise NotImplementedError(f"autotuned '{name}' has a pre_hook, which jax-triton does not run")
    fits = [c for c in tuner.configs if all(c.kwargs.get(key, x) == x for key, x in meta.items())]
    if not fits:
        raise KernelTypeError(f"no configuration of '{name}' has the constants {dict(meta)}")
    tuner = copy.copy(tuner)  # the user's is another thread's, too
    tuner.configs, tuner.nargs = fits, named
    return tuner.prune_configs(meta)[0]


mlir.register_lowering(_library.triton_kernel_call_p, _lower, platform="cpu")
