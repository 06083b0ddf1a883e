"""`warp_kernel`: an NVIDIA Warp `@wp.kernel` as a native JAX operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import warp as wp
from jax.typing import ArrayLike

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.input_names import describe_as
from ffi_bridge.launch_extents import LaunchExtents, integers
from ffi_bridge.native_call import NativeCall, call_kernel
from ffi_bridge.outs import Outs
from ffi_bridge.warp_adjoint import differentiable_call
from ffi_bridge.warp_call import ForwardKernel, Launch
from ffi_bridge.warp_parameters import parameters_of, static_value

BLOCK_DIM: Final = 256  # Warp's own default


def warp_kernel(
    kernel: Any,
    outs: Any,
    *,
    launch_dims: int | Sequence[int] | None = None,
    in_out_argnames: Sequence[str] | None = None,
    block_dim: int | None = None,
    vmap_method: str | None = None,
    differentiable: bool = False,
) -> Callable[..., Any]:
    """`f(*ins) = outs` where the Warp kernel `kernel(*ins, *outs)` writes `outs`; no Python at call time.

    On a GPU a launch on XLA's stream, by a native handler that XLA may record into a CUDA graph. On the CPU
    one call of Warp's own compiled entry point, on one thread.

    Args:
        kernel: a function decorated with `@warp.kernel`. Its last parameters, as many as `outs` has beyond
            the in-out ones, are outputs, and it writes every element of them. A `warp.array` parameter,
            `array[float]` or `array(dtype=float)`, is a buffer of JAX, C-contiguous; elements that are
            vectors or matrices take the last axes: `array[vec3]` is (n, 3). A 0-d array is passed as one of
            shape (1,). Parameters that are numbers, vectors, matrices, or structs of those are static, known
            when traced. Generic ones (`Any`) take the types of the call.
        outs: a `jax.ShapeDtypeStruct`, or any pytree of them: the in-out arrays in the order of the
            parameters, then the outputs; the result has the same structure.
        launch_dims: the extents of `wp.tid()`; default: the shape of the first output. One call may have
            others, and other outputs: `f(*ins, launch_dims=..., outs=...)`.
        in_out_argnames: names of inputs that the kernel updates in place, for example to accumulate; the
            array that was given stays as it is, unless it is donated.
        block_dim: threads per block on a GPU, at most 1024, default 256; the CPU runs blocks of one.
        vmap_method: what `jax.vmap` does. None (default): on a GPU one launch takes the whole batch, or, if
            the kernel assigns to the name of an array parameter, a launch each element; on the CPU the
            handler loops over the batch in machine code. "sequential": a `jax.lax.scan` of calls.
            "expand_dims", "broadcast_all": one launch as in `warp.jax_kernel`, where the kernel sees the
            batch in the first axis of every array, which is as many times as long, and in the first of
            `launch_dims`; an array without a batch axis stays as it is, or is repeated.
        differentiable: `jax.vjp` and `jax.grad` launch the adjoint that Warp derives from the kernel, by
            Warp's rules: accumulate with `warp.atomic_add`, since an element that is read and then
            overwritten has no right adjoint; static parameters have none. No forward mode.

    Returns:
        A function of arrays and static values, in the order of the kernel's parameters, compiled by
        `jax.jit`. Its keyword arguments `launch_dims` and `outs` are static, and for that call alone.

    Raises:
        TypeError: `kernel` is not a Warp kernel.
        ValueError: `outs`, `launch_dims`, `in_out_argnames` or `block_dim` do not fit the kernel; a
            parameter is of a kind that JAX lacks: an indexed array, a texture, a struct with arrays in it.
        KernelTypeError: when traced: wrong number of arguments, wrong dtype or rank, a traced value for a
            static parameter, more threads along an axis than `wp.tid()` counts, 2^31, a kernel that does not
            compile.

    Source: https://nvidia.github.io/warp/ for what a kernel may contain.
    """
    if not isinstance(kernel, wp.Kernel):
        raise TypeError(
            f"warp_kernel needs a Warp kernel, got {kernel!r}: decorate the function with @warp.kernel"
        )
    if differentiable and vmap_method == "expand_dims":
        raise KernelDefinitionError(
            'differentiable=True and vmap_method="expand_dims": all elements of a batch would add to one '
            'adjoint of what they share; choose "broadcast_all", or another method'
        )
    structure = Outs.of(outs)
    spec = _spec(kernel, structure, tuple(in_out_argnames or ()), vmap_method)
    dims = None if launch_dims is None else _dims(launch_dims)
    return _callable(spec, structure, dims, _block_dim(block_dim), differentiable)


def _spec(kernel: Any, outs: Outs, in_out: tuple[str, ...], vmap_method: str | None) -> ForwardKernel:
    parameters = parameters_of(kernel)
    names = [p.name for p in parameters]
    inputs = len(parameters) - len(outs.flat) + len(in_out)
    known = [name for name in in_out if name in names[: max(0, inputs)]]
    if len(set(known)) < len(in_out) or not len(in_out) <= len(outs.flat) <= len(parameters):
        raise KernelDefinitionError(
            f"kernel '{kernel.key}' has the parameters {', '.join(names)}; in_out_argnames={list(in_out)} "
            f"and {len(outs.flat)} outs do not fit it: an in-out name is an input, named once, and outs has "
            "one entry for each in-out input, then one for each output"
        )
    updated = tuple(i for i in range(inputs) if names[i] in in_out)
    outputs = (*updated, *range(inputs, len(parameters)))
    for i in outputs:
        if not parameters[i].is_array:
            raise KernelDefinitionError(f"kernel '{kernel.key}': output '{names[i]}' is not a warp.array")
    arrays = [i for i in range(inputs) if parameters[i].is_array]
    aliases = tuple((arrays.index(p), out) for out, p in enumerate(updated))
    spec = ForwardKernel(vmap_method, aliases, kernel, parameters, updated, outputs)
    spec.check(outs)
    return spec


def _dims(given: int | Sequence[int]) -> tuple[int, ...]:
    return integers("launch_dims", given, "one to four integers", 0, most=4)


def _block_dim(given: int | None) -> int:
    if given is None:
        return BLOCK_DIM
    (threads,) = integers("block_dim", given, "a number of threads", 1, most=1)
    return LaunchExtents((1, 1, 1), (threads, 1, 1), 0).checked().block[0]


def _callable(
    spec: ForwardKernel, outs: Outs, dims: tuple[int, ...] | None, block_dim: int, differentiable: bool
) -> Callable[..., Any]:
    given = range(len(spec.parameters) - len(spec.outputs) + len(spec.in_out))
    static = [i for i in given if not spec.parameters[i].is_array]
    function = differentiable_call if differentiable else call_kernel
    default_outs, default_dims = outs, dims

    @functools.partial(jax.jit, inline=True, static_argnums=(0, 1, *(2 + i for i in static)))
    def jitted(outs: Outs, dims: tuple[int, ...], *ins: Any) -> Any:
        launch = Launch(dims, tuple((i, ins[i]) for i in static), block_dim)
        arrays = [x for i, x in enumerate(ins) if i not in static]
        return outs.restore(function(spec, NativeCall(outs.flat, launch), arrays))

    @describe_as(spec.kernel.func, len(spec.parameters) - len(given))
    def call(*ins: ArrayLike, outs: Any = None, launch_dims: int | Sequence[int] | None = None) -> Any:
        if len(ins) != len(given):
            names = ", ".join(spec.parameters[i].name for i in given)
            raise KernelTypeError(
                f"kernel '{spec.name}' takes {len(given)} inputs ({names}), but the call has {len(ins)}; "
                "outputs are not passed"
            )
        values: list[Any] = list(ins)
        for i in static:
            values[i] = static_value(spec.name, spec.parameters[i], ins[i])
        structure = default_outs if outs is None else spec.outs_of_call(outs)
        dims = default_dims if launch_dims is None else _dims(launch_dims)
        return jitted(structure, dims or spec.default_dims(structure), *values)

    return call
