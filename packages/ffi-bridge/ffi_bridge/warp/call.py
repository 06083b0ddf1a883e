"""Warp kernels on CPUs and GPUs, and the adjoints that Warp derives, as calls of the native primitive."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp

from ffi_bridge.cuda.driver import runs_warp_on
from ffi_bridge.native.buffers import BufferSpec, buffers_of
from ffi_bridge.native.call import BY_ELEMENT, NativeCall, NativeKernel
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.primitive import call_kernel
from ffi_bridge.warp.analysis import check_rank, is_tiled
from ffi_bridge.warp.compile import ensure_cpu_target
from ffi_bridge.warp.cuda import ensure_cuda_target
from ffi_bridge.warp.internals import array_t
from ffi_bridge.warp.launch import DATA_OFFSET, GRAD_OFFSET, Argument, WarpLaunch, WarpProgram
from ffi_bridge.warp.parameters import array_type, array_value, scalar_type, scalar_value
from ffi_bridge.warp.signature import Signature


@dataclass(frozen=True)
class Launch:
    """Options of a call: launch dimensions, values of static parameters by position, threads of a block.

    `is_default`: the dimensions are those of the first output.
    """

    dims: tuple[int, ...]
    statics: Constants
    block_dim: int
    is_default: bool


@dataclass(frozen=True, eq=False)
class WarpOperation(NativeKernel):
    """A sequence of launches of Warp kernels; array parameters are buffers."""

    signature: Signature

    toolchain: ClassVar[str] = "Warp"

    @property
    def platforms(self) -> tuple[str, ...]:
        return ("cpu", "cuda")

    def launches(self, buffers: Sequence[BufferSpec], options: Any) -> tuple[WarpLaunch, ...]:
        """Return the launches on these buffers; raise KernelTypeError where an argument does not fit."""
        recorded: tuple[WarpLaunch, ...] = options
        return recorded

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        wp.init()
        buffers = tuple(buffers_of(ins, call, names))
        launches = self.launches(buffers, call.options)
        # Behind the results that the caller sees are the temporaries of a function.
        results = (len(ins) + i for i in self.results(call) if i < len(self.signature.outputs))
        fields = self.name, launches, buffers, len(ins), self.aliases, call.sizes, tuple(results)
        program = WarpProgram(*fields)
        return ensure_cuda_target(program) if runs_warp_on(platform) else ensure_cpu_target(program)


@dataclass(frozen=True, eq=False)
class WarpFunction(WarpOperation):
    """A Python function whose launches were recorded; they are the options of a call.

    Its temporaries are outputs behind those that the caller sees.
    """

    function: Any

    vmap_methods: ClassVar[tuple[str | None, ...]] = BY_ELEMENT

    @property
    def name(self) -> str:
        return str(self.function.__name__)

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        positions = (*self.signature.inputs, *self.signature.outputs)
        names = tuple(self.signature.parameters[i].name for i in positions)
        return names + tuple(f"temporary {i}" for i in range(num_inputs + num_outs - len(names)))


@dataclass(frozen=True, eq=False)
class WarpKernel(WarpOperation):
    """A Warp kernel, or its adjoint, for which `floats` are the parameters that have one.

    Buffers: the inputs, then the outputs; an in-out array is its output, which shares its memory. Of an
    adjoint: every array as the kernel left it, then the adjoints of `floats`, in and out.
    """

    kernel: Any  # a warp.Kernel, which has no types of use here
    floats: tuple[int, ...] | None = None

    derivative_hint: ClassVar[str] = "; or pass differentiable=True for the adjoint that Warp generates"
    vmap_methods: ClassVar[tuple[str | None, ...]] = (*BY_ELEMENT, "expand_dims", "broadcast_all")

    @property
    def name(self) -> str:
        return str(self.kernel.key)

    @property
    def arrays(self) -> tuple[int, ...]:
        """Return the parameters that the first buffers belong to."""
        signature = self.signature
        return (*signature.inputs, *signature.outputs) if self.floats is None else signature.arrays

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        buffers = (*self.arrays, *2 * (self.floats or ()))
        return tuple(self.signature.parameters[i].name for i in buffers)

    def with_batch_axis(
        self, ins: Sequence[Any], call: NativeCall, size: int
    ) -> tuple[Sequence[Any], NativeCall]:
        # The ranks of a Warp kernel are declared: the batch goes into the first axes, as in `wp.jax_kernel`.
        outs = (jax.ShapeDtypeStruct(_joined((size, *out.shape)), out.dtype) for out in call.outs)
        launch = replace(call.options, dims=_joined((size, *call.options.dims)))
        return [x.reshape(_joined(x.shape)) for x in ins], NativeCall(tuple(outs), launch)

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        self.refuse_no_threads(names, call, call.options.dims)
        return super().ensure_target(ins, call, names, platform)

    def launches(self, buffers: Sequence[BufferSpec], options: Any) -> tuple[WarpLaunch, ...]:
        launch: Launch = options
        kernel, statics, block_dim = self.kernel, dict(launch.statics), launch.block_dim
        subject, parameters = self.signature.subject, self.signature.parameters
        arrays, floats = self.arrays, self.floats or ()
        data = {p: i for i, p in enumerate(arrays)}
        adjoints = {p: len(arrays) + len(floats) + i for i, p in enumerate(floats)}
        types = tuple(
            array_type(subject, p, buffers[data[i]].dtype, buffers[data[i]].shape)
            if p.is_array
            else scalar_type(subject, p, statics[i])
            for i, p in enumerate(parameters)
        )
        check_rank(subject, kernel, launch.dims, block_dim, launch.is_default)

        def passed(i: int, *pointers: tuple[int | None, int]) -> Argument:
            """Return parameter i, with pointers to the buffers that it has."""
            if not parameters[i].is_array:
                return Argument.of(scalar_value(subject, kernel, parameters[i], types[i], statics[i]))
            present = [(buffer, offset, 0) for buffer, offset in pointers if buffer is not None]
            value = array_value(types[i], buffers[present[0][0]].shape) if present else array_t()
            return Argument.of(value, *present)

        every = range(len(types))
        # Through `grad`, too, as Warp's tape does: it is how a view of an array finds its adjoint.
        arguments = tuple(
            passed(i, (data.get(i), DATA_OFFSET), (adjoints.get(i), GRAD_OFFSET)) for i in every
        )
        of_adjoints = None
        if self.floats is not None:
            of_adjoints = tuple(passed(i, (adjoints.get(i), DATA_OFFSET)) for i in every)
        tiled = is_tiled(kernel, launch.dims, block_dim)
        return (WarpLaunch(kernel, types, launch.dims, block_dim, arguments, of_adjoints, tiled),)


def _joined(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape whose first two axes are one."""
    return (math.prod(shape[:2]), *shape[2:])


def differentiable_call(kernel: WarpKernel, call: NativeCall, ins: Sequence[Any]) -> Sequence[Any]:
    """Call a kernel, with Warp's adjoint for reverse-mode differentiation."""

    @jax.custom_vjp
    def run(*arrays: Any) -> Any:
        return tuple(call_kernel(kernel, call, arrays))

    def forward(*arrays: Any) -> tuple[Any, Any]:
        results = run(*arrays)
        return results, (arrays, results)

    def backward(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        arrays, results = residuals
        return _cotangents(kernel, call, arrays, results, cotangents)

    run.defvjp(forward, backward)
    return run(*[jnp.asarray(x) for x in ins])


def _cotangents(
    kernel: WarpKernel,
    call: NativeCall,
    ins: Sequence[Any],
    results: Sequence[Any],
    cotangents: Sequence[Any],
) -> tuple[Any, ...]:
    """Return the cotangent of every input; float0 for integers, which have none."""
    signature = kernel.signature
    # Like Warp's tape: the adjoint sees arrays as the kernel left them.
    arrays = dict(zip((*signature.inputs, *signature.outputs), (*ins, *results), strict=True))
    by_output = dict(zip(signature.outputs, cotangents, strict=True))
    floats = tuple(i for i in signature.arrays if jnp.issubdtype(arrays[i].dtype, jnp.floating))
    aliases = tuple((len(signature.arrays) + i, i) for i in range(len(floats)))
    # An adjoint writes cotangents and nothing else.
    adjoint = replace(kernel, aliases=aliases, floats=floats, has_side_effect=False)
    start = [by_output.get(i, jnp.zeros_like(arrays[i])) for i in floats]
    outs = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in start)
    primals = [arrays[i] for i in signature.arrays]
    cotangent_of = dict(
        zip(floats, call_kernel(adjoint, NativeCall(outs, call.options), [*primals, *start]), strict=True)
    )
    return tuple(
        cotangent_of[i] if i in cotangent_of else np.zeros(arrays[i].shape, jax.dtypes.float0)
        for i in signature.inputs
    )
