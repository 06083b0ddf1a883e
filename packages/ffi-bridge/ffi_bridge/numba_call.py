"""The JAX primitive behind `numba_kernel`: one native call, batched natively by its handler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError
from ffi_bridge.handler.numba_cpu import Layout
from ffi_bridge.numba_compile import array_type, ensure_kernel_target, parameter_names
from ffi_bridge.outs import Outs
from ffi_bridge.sharding import align_varying, check_whole, output_type

VMAP_METHODS: Final = (None, "sequential", "expand_dims", "broadcast_all")

# Batch levels of a call, outermost first: the axis size, and which inputs have the axis.
Levels = tuple[tuple[int, tuple[bool, ...]], ...]


@dataclass(frozen=True, eq=False)
class Kernel:
    """What the user wrapped; compared by identity: its code may change with the globals it reads."""

    dispatcher: Any  # a numba.core.dispatcher.Dispatcher, which has no types of use here
    vmap_method: str | None
    aliases: tuple[tuple[int, int], ...]

    def check_aliases_of(self, outs: Outs) -> None:
        """Raise KernelDefinitionError for an output that does not exist or is aliased twice."""
        targets = [out for _, out in self.aliases]
        for ins, out in self.aliases:
            if not 0 <= out < len(outs.flat) or ins < 0 or targets.count(out) > 1:
                raise KernelDefinitionError(
                    f"input_output_aliases has {ins}: {out}; expected an input index, then an output "
                    f"index below {len(outs.flat)} that no other input has"
                )


def call_kernel(
    kernel: Kernel,
    outs: tuple[jax.ShapeDtypeStruct, ...],
    num_threads: int | None,
    ins: Sequence[Any],
    levels: Levels = (),
) -> list[Any]:
    """Bind the primitive, with its target compiled and registered first, so that errors show when
    traced.

    `outs` are without batch axes; inputs have theirs in front, in the order of `levels`.
    """
    # A Python scalar or NumPy array becomes what jax.jit would make of it.
    arrays = align_varying([jax.numpy.asarray(x) for x in ins])
    target = _target(kernel, outs, num_threads, arrays, levels)
    return numba_call_p.bind(
        *arrays, kernel=kernel, outs=outs, num_threads=num_threads, levels=levels, target=target
    )


def _target(
    kernel: Kernel,
    outs: tuple[jax.ShapeDtypeStruct, ...],
    num_threads: int | None,
    ins: Sequence[Any],
    levels: Levels,
) -> str:
    names = parameter_names(kernel.dispatcher, len(ins), len(outs))
    batched = [tuple(level[1][i] for level in levels) for i in range(len(ins))]
    batched += [(True,) * len(levels)] * len(outs)
    aliases = dict(kernel.aliases)
    for source, out in kernel.aliases:
        _check_alias(kernel, names, ins, outs, batched, source, out)
    specs = [(x.dtype, x.ndim - sum(axes)) for x, axes in zip(ins, batched, strict=False)]
    specs += [(out.dtype, len(out.shape)) for out in outs]
    arrays = [
        array_type(
            kernel.dispatcher.__name__,
            name,
            dtype,
            ndim,
            readonly=i < len(ins) and i not in aliases,
        )
        for i, (name, (dtype, ndim)) in enumerate(zip(names, specs, strict=True))
    ]
    layout = Layout(kernel.dispatcher.__name__, names, len(ins), tuple(batched))
    target = ensure_kernel_target(
        kernel.dispatcher, arrays, layout, noalias=not aliases, num_threads=num_threads
    )
    return target.name


def _check_alias(
    kernel: Kernel,
    names: Sequence[str],
    ins: Sequence[Any],
    outs: Sequence[jax.ShapeDtypeStruct],
    batched: Sequence[tuple[bool, ...]],
    source: int,
    out: int,
) -> None:
    if source >= len(ins):
        raise KernelTypeError(
            f"kernel '{kernel.dispatcher.__name__}': input_output_aliases has {source}: {out}, but "
            f"the call has {len(ins)} inputs"
        )
    shape = ins[source].shape[sum(batched[source]) :]
    if (shape, ins[source].dtype) != (outs[out].shape, outs[out].dtype):
        raise KernelTypeError(
            f"kernel '{kernel.dispatcher.__name__}': input '{names[source]}' is {ins[source].dtype}{shape} "
            f"and is aliased with output {out}, which is {outs[out].dtype}{outs[out].shape}; "
            "aliased buffers need equal shapes and dtypes"
        )


def _abstract(*ins: Any, kernel: Kernel, outs: Any, levels: Levels, **_: Any) -> list[Any]:
    check_whole(kernel.dispatcher.__name__, ins)
    sizes = tuple(size for size, _ in levels)
    return [output_type(sizes + tuple(out.shape), out.dtype, ins) for out in outs]


def _lower(ctx: Any, *operands: Any, kernel: Kernel, target: str, **_: Any) -> Any:
    rule = jax.ffi.ffi_lowering(target, operand_output_aliases=dict(kernel.aliases))
    return rule(ctx, *operands)


def _refuse_platform(ctx: Any, *_: Any, kernel: Kernel, **__: Any) -> Any:
    raise NotImplementedError(
        f"kernel '{kernel.dispatcher.__name__}' is a Numba CPU kernel and its program is compiled for "
        f"{', '.join(ctx.module_context.platforms)}; put its inputs on a CPU device, or register a GPU "
        "kernel beside it in an XLACustomKernel"
    )


def _batch(ins: Sequence[Any], axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    size = next(x.shape[a] for x, a in zip(ins, axes, strict=True) if a is not None)
    moved = [x if a is None else jax.numpy.moveaxis(x, a, 0) for x, a in zip(ins, axes, strict=True)]
    has_axis = [a is not None for a in axes]
    method = cast(Kernel, params["kernel"]).vmap_method
    rule = {None: _batch_natively, "sequential": _batch_sequentially}.get(method, _batch_in_kernel)
    results = rule(size, has_axis, moved, **params)
    return results, [0] * len(results)


def _batch_natively(
    size: int,
    has_axis: list[bool],
    ins: list[Any],
    kernel: Kernel,
    outs: Any,
    levels: Levels,
    **params: Any,
) -> list[Any]:
    # An aliased input is overwritten for every element of the batch, so that it needs an axis of
    # its own.
    for source, _ in kernel.aliases:
        if not has_axis[source]:
            ins[source] = jax.numpy.broadcast_to(ins[source], (size, *ins[source].shape))
            has_axis[source] = True
    level = (size, tuple(has_axis))
    return call_kernel(kernel, outs, params["num_threads"], ins, (level, *levels))


def _batch_sequentially(size: int, has_axis: list[bool], ins: list[Any], **params: Any) -> list[Any]:
    def body(_: None, slices: list[Any]) -> tuple[None, list[Any]]:
        rest = iter(slices)
        merged = [next(rest) if has else x for has, x in zip(has_axis, ins, strict=True)]
        return None, numba_call_p.bind(*merged, **params)

    moving = [x for has, x in zip(has_axis, ins, strict=True) if has]
    return jax.lax.scan(body, None, moving, length=size)[1]


def _batch_in_kernel(
    size: int, has_axis: list[bool], ins: list[Any], kernel: Kernel, outs: Any, **params: Any
) -> list[Any]:
    """The kernel itself sees the batch axis, in front of every buffer."""
    aliased = dict(kernel.aliases)
    repeat = kernel.vmap_method == "broadcast_all"
    whole = [
        x if has else jax.numpy.broadcast_to(x, (size if repeat or i in aliased else 1, *x.shape))
        for i, (has, x) in enumerate(zip(has_axis, ins, strict=True))
    ]
    batched = tuple(jax.ShapeDtypeStruct((size, *out.shape), out.dtype) for out in outs)
    return call_kernel(kernel, batched, params["num_threads"], whole)


def _no_jvp(primals: Any, tangents: Any, *, kernel: Kernel, **_: Any) -> Any:
    raise MissingRuleError(
        f"kernel '{kernel.dispatcher.__name__}' has no derivative of its own; give one with "
        "jax.custom_jvp or jax.custom_vjp, or give it an XLACustomKernel with a jvp rule or a reference"
    )


def _run_eagerly(*ins: Any, **params: Any) -> Any:
    # Reached only where jit is off; a jitted call of the same primitive is what runs machine code.
    with jax.disable_jit(False):
        return jax.jit(lambda *xs: numba_call_p.bind(*xs, **params))(*ins)


numba_call_p: Final = Primitive("numba_kernel")
numba_call_p.multiple_results = True
numba_call_p.def_impl(_run_eagerly)
numba_call_p.def_abstract_eval(_abstract)
mlir.register_lowering(numba_call_p, _refuse_platform)
mlir.register_lowering(numba_call_p, _lower, platform="cpu")
batching.primitive_batchers[numba_call_p] = _batch
ad.primitive_jvps[numba_call_p] = _no_jvp
