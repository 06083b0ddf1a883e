"""Warp kernels on CPUs and GPUs, and their adjoints, as calls of the native primitive."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import jax
import warp as wp

from ffi_bridge.buffer_spec import BufferSpec, buffers_of
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native_call import NativeCall, NativeKernel
from ffi_bridge.outs import Outs
from ffi_bridge.warp_compile import ensure_cpu_target
from ffi_bridge.warp_cuda import ensure_cuda_target
from ffi_bridge.warp_inside import array_t
from ffi_bridge.warp_launch import DATA_OFFSET, GRAD_OFFSET, Argument, WarpLaunch, WarpProgram
from ffi_bridge.warp_parameters import Parameter, array_type, array_value, scalar_type, scalar_value


@dataclass(frozen=True)
class Roles:
    """`buffers[i]`: the parameter that buffer i belongs to.

    `arguments`: parameter -> the buffer that is passed for it; `adjoints`: parameter -> the buffer passed for
    its adjoint, or None for a forward launch.
    """

    buffers: tuple[int, ...]
    arguments: Mapping[int, int]
    adjoints: Mapping[int, int] | None


@dataclass(frozen=True)
class Launch:
    """Options of a call: launch dimensions, values of static parameters by position, threads of a block."""

    dims: tuple[int, ...]
    statics: tuple[tuple[int, Any], ...]
    block_dim: int


@dataclass(frozen=True, eq=False)
class WarpKernel(NativeKernel):
    """A Warp kernel in one of its two directions; array parameters are buffers.

    `outputs`: positions of the parameters that are outputs; `in_out`: of those that are inputs, too.
    """

    kernel: Any  # a warp.Kernel, which has no types of use here
    parameters: tuple[Parameter, ...]
    in_out: tuple[int, ...]
    outputs: tuple[int, ...]

    toolchain: ClassVar[str] = "Warp"
    derivative_hint: ClassVar[str] = "; or pass differentiable=True for the adjoint that Warp generates"
    vmap_methods: ClassVar[tuple[str | None, ...]] = (None, "sequential", "expand_dims", "broadcast_all")

    @property
    def name(self) -> str:
        return str(self.kernel.key)

    @cached_property
    def arrays(self) -> tuple[int, ...]:
        """Positions of the parameters that are buffers."""
        return tuple(i for i, p in enumerate(self.parameters) if p.is_array)

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Positions of the arrays that a caller gives."""
        return tuple(i for i in self.arrays if i not in self.outputs or i in self.in_out)

    @property
    @abstractmethod
    def roles(self) -> Roles:
        """Which parameter each buffer belongs to."""

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        names = tuple(self.parameters[i].name for i in self.roles.buffers)
        if num_inputs + num_outs != len(names):
            inputs = ", ".join(self.parameters[i].name for i in self.inputs)
            raise KernelTypeError(
                f"kernel '{self.name}' takes {len(self.inputs)} input arrays ({inputs}), but the call has "
                f"{num_inputs}; give one array for each"
            )
        return names

    @property
    def platforms(self) -> tuple[str, ...]:
        return ("cpu", "cuda")

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
        wp.init()
        buffers = tuple(buffers_of(ins, call, names))
        sizes = tuple(size for size, _ in call.levels)
        launches = (self.launch(buffers, call.options),)
        program = WarpProgram(self.name, launches, buffers, len(ins), sizes)
        return ensure_cuda_target(program) if platform == "cuda" else ensure_cpu_target(program)

    def launch(self, buffers: Sequence[BufferSpec], options: Launch) -> WarpLaunch:
        """The launch on these buffers; raises KernelTypeError where what is given does not fit."""
        roles, key, statics = self.roles, self.name, dict(options.statics)
        types = tuple(
            array_type(key, p, buffers[roles.arguments[i]].dtype, buffers[roles.arguments[i]].shape)
            if p.is_array
            else scalar_type(key, p, statics[i])
            for i, p in enumerate(self.parameters)
        )

        def passed(i: int, *pointers: tuple[int | None, int]) -> Argument:
            """Parameter i, with pointers to those buffers that it has."""
            if not self.parameters[i].is_array:
                return Argument.of(scalar_value(self.kernel, self.parameters[i], types[i], statics[i]))
            known = [(buffer, offset, 0) for buffer, offset in pointers if buffer is not None]
            value = array_value(types[i], buffers[known[0][0]].shape) if known else array_t()
            return Argument.of(value, *known)

        every, adjoints = range(len(types)), roles.adjoints
        # Through `grad`, too, as Warp's tape does: it is how a view of an array finds its adjoint.
        own = tuple(
            passed(i, (roles.arguments.get(i), DATA_OFFSET), ((adjoints or {}).get(i), GRAD_OFFSET))
            for i in every
        )
        of_adjoints = (
            None if adjoints is None else tuple(passed(i, (adjoints.get(i), DATA_OFFSET)) for i in every)
        )
        return WarpLaunch(self.kernel, types, options.dims, options.block_dim, own, of_adjoints)


def _joined(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The first two axes as one."""
    return (math.prod(shape[:2]), *shape[2:])


class ForwardKernel(WarpKernel):
    """Buffers: the inputs, then the outputs; an in-out array is its output, which shares its memory."""

    def outs_of_call(self, outs: Any) -> Outs:
        """The outputs of one call; raises KernelDefinitionError unless as many as the kernel has."""
        found = Outs.of(outs)
        if len(found.flat) != len(self.outputs):
            names = ", ".join(self.parameters[i].name for i in self.outputs)
            raise KernelDefinitionError(
                f"kernel '{self.name}' has {len(self.outputs)} outputs ({names}), but the call's outs has "
                f"{len(found.flat)}; give one jax.ShapeDtypeStruct for each"
            )
        return found

    def default_dims(self, outs: Outs) -> tuple[int, ...]:
        """The extents of the first output, in elements of Warp's."""
        shape, inner = outs.flat[0].shape, self.parameters[self.outputs[0]].inner
        return shape[: len(shape) - len(inner)] or (1,)

    @property
    def roles(self) -> Roles:
        buffers = (*self.inputs, *self.outputs)
        return Roles(buffers, {p: i for i, p in enumerate(buffers)}, None)


@dataclass(frozen=True, eq=False)
class AdjointKernel(WarpKernel):
    """Buffers: every array as the kernel left it, then the adjoints of `floats`, in and out."""

    floats: tuple[int, ...]

    @property
    def roles(self) -> Roles:
        buffers = (*self.arrays, *self.floats, *self.floats)
        first = len(self.arrays) + len(self.floats)
        adjoints = {p: first + i for i, p in enumerate(self.floats)}
        return Roles(buffers, {p: i for i, p in enumerate(self.arrays)}, adjoints)
