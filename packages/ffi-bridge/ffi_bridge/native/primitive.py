"""The JAX primitive behind every kernel wrapper: one native call, batched natively by its handler."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, cast

import jax
import numpy as np
from jax import export
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native import lowering, tracing
from ffi_bridge.native.call import BY_ELEMENT, NativeCall, NativeKernel


def call_kernel(kernel: NativeKernel, call: NativeCall, ins: Sequence[Any]) -> list[Any]:
    """Compile and register the target, mostly, so that errors show when traced, and bind the primitive.

    Inputs have their batch axes in front, in the order of the levels.
    """
    names = kernel.buffer_names(len(ins), len(call.outs))
    subject = f"kernel '{kernel.name}'"
    arrays = tracing.align_varying([as_array(subject, *named) for named in zip(names, ins, strict=False)])
    if kernel.for_sizes:
        refuse_symbolic(kernel, names, [*[x.shape for x in arrays], *[out.shape for out in call.outs]])
    for source, out in kernel.aliases:
        _check_alias(kernel, names, arrays, call, source, out)
    platform = kernel.likely_platform()
    target = "" if kernel.is_compiled_late else kernel.target(arrays, call, names, platform)
    return _bind(*arrays, kernel=kernel, call=call, target=(platform, target))


def _bind(*ins: Any, kernel: NativeKernel, **params: Any) -> list[Any]:
    primitive = native_call_in_place_p if kernel.is_lowered_in_place else native_call_p
    return primitive.bind(*ins, kernel=kernel, **params)


def as_array(subject: str, name: str, x: Any) -> jax.Array:
    """Return the array that `jax.jit` makes of a number, a NumPy array or a list of numbers."""
    is_tree = isinstance(x, (list, tuple)) and any(map(np.ndim, jax.tree.leaves(x)))
    if is_tree or x is None or isinstance(x, (dict, str)):
        raise KernelTypeError(
            f"{subject}: input '{name}' is a {type(x).__name__}; expected an array or a number: "
            "pass each array as an input of its own"
        )
    array = jax.numpy.asarray(x)
    if jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key):
        raise KernelTypeError(
            f"{subject}: input '{name}' is a key, {array.dtype}; expected numbers: pass "
            "jax.random.key_data(key)"
        )
    return array


def refuse_symbolic(kernel: NativeKernel, names: Sequence[str], shapes: Sequence[Any]) -> None:
    """Raise KernelTypeError for a shape that is not known, for a kernel that is compiled for its sizes."""
    for name, shape in zip(names, shapes, strict=False):
        if any(map(export.is_symbolic_dim, shape)):
            raise KernelTypeError(
                f"kernel '{kernel.name}': '{name}' has the symbolic shape {shape}, and a {kernel.toolchain} "
                "kernel is compiled for its sizes; export one program for each size, or call a kernel that "
                "reads sizes when it runs: a Numba kernel on the CPU"
            )


def _check_alias(
    kernel: NativeKernel, names: Sequence[str], ins: Sequence[Any], call: NativeCall, source: int, out: int
) -> None:
    if source >= len(ins):
        raise KernelTypeError(
            f"kernel '{kernel.name}': input_output_aliases has {source}: {out}, but "
            f"the call has {len(ins)} inputs"
        )
    shape = ins[source].shape[sum(call.batched(len(ins))[source]) :]
    expected = call.outs[out]
    if (shape, ins[source].dtype) != (expected.shape, expected.dtype):
        raise KernelTypeError(
            f"kernel '{kernel.name}': input '{names[source]}' is {ins[source].dtype}{shape} "
            f"and is aliased with output {out}, which is {expected.dtype}{expected.shape}; "
            "aliased buffers need equal shapes and dtypes"
        )


def _abstract(*ins: Any, kernel: NativeKernel, call: NativeCall, **_: Any) -> tuple[list[Any], Any]:
    # Along axes that XLA divides inputs may be split; others it would gather.
    divided = lowering.takes_any_batch(kernel, call, ins) and lowering.is_small(call, ins, len(call.levels))
    batch = tracing.check_whole(kernel.name, ins, call.levels if divided else ())
    if kernel.is_kept:
        tracing.check_allowed(kernel.name)
    outs = [tracing.output_type(call.sizes + tuple(out.shape), out.dtype, ins, batch) for out in call.outs]
    return outs, tracing.effects_of_call(kernel.ordered) if kernel.is_kept else set()


def _lower(
    ctx: Any, *operands: Any, kernel: NativeKernel, call: NativeCall, target: tuple[str, str], platform: str
) -> Any:
    if platform not in kernel.platforms:
        return _refuse_platform(ctx, kernel=kernel)
    # When traced it was compiled for the platform that was likely.
    compiled_for, name = target
    if platform != compiled_for or kernel.is_compiled_late:
        names = kernel.buffer_names(len(ctx.avals_in), len(call.outs))
        name = kernel.target(ctx.avals_in, call, names, platform)
    context = ctx.module_context.axis_context
    if kernel.is_kept:
        tracing.check_side_effects(kernel.name, kernel.ordered, context)
    options: dict[str, Any] = {
        "operand_output_aliases": dict(kernel.aliases),
        "has_side_effect": kernel.is_kept,
    }
    if levels := lowering.divided_levels(kernel, call, ctx.avals_in, context):
        # XLA divides along axes that all operands have: those that lack one get it first.
        if not all(all(level.mapped) for level in call.levels[:levels]):

            def spread(*ins: Any) -> list[Any]:
                return call_kernel(kernel, *lowering.spread(call, ins, levels))

            return mlir.lower_fun(spread)(ctx, *operands)
        options["extra_attributes"] = lowering.attributes(name, call.sizes[:levels], ctx)
    rule = partial(jax.ffi.ffi_lowering(name, **options), **kernel.attributes(call))
    if kernel.ordered:
        return tracing.lower_in_order(rule, ctx, operands)
    return kernel.lower(rule, ctx, call, operands)


def _refuse_platform(ctx: Any, *_: Any, kernel: NativeKernel, **__: Any) -> Any:
    ours = " and ".join(kernel.platforms)
    raise NotImplementedError(
        f"kernel '{kernel.name}' is a {kernel.toolchain} kernel for {ours} and its program is compiled for "
        f"{', '.join(ctx.module_context.platforms)}; put its inputs on a {ours} device, or register a kernel "
        "for the other platform beside it in an XLACustomKernel"
    )


def _batch(ins: Sequence[Any], axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    moved, level = tracing.add_level(ins, axes)
    method = cast(NativeKernel, params["kernel"]).vmap_method
    sequential = {name: partial(_batch_sequentially, unroll=name != "sequential") for name in BY_ELEMENT[1:]}
    rule = {None: _batch_natively, **sequential}.get(method, _batch_in_kernel)
    results = rule(level, moved, **params)
    return results, [0] * len(results)


def _batch_natively(
    level: tracing.Level, ins: list[Any], kernel: NativeKernel, call: NativeCall, **_: Any
) -> list[Any]:
    # Every element of the batch overwrites an aliased input, which so needs the batch axis.
    aliased = dict(kernel.aliases)
    for source in aliased:
        if not level.mapped[source]:
            ins[source] = jax.numpy.broadcast_to(ins[source], (level.size, *ins[source].shape))
    level = tracing.Level(level.size, tuple(has or i in aliased for i, has in enumerate(level.mapped)))
    return call_kernel(kernel, NativeCall(call.outs, call.options, (level, *call.levels)), ins)


def _batch_sequentially(level: tracing.Level, ins: list[Any], unroll: bool, **params: Any) -> list[Any]:
    def body(_: None, slices: list[Any]) -> tuple[None, list[Any]]:
        rest = iter(slices)
        merged = [next(rest) if has else x for has, x in zip(level.mapped, ins, strict=True)]
        return None, _bind(*merged, **params)

    if unroll and export.is_symbolic_dim(level.size):
        raise KernelTypeError(
            f"kernel '{params['kernel'].name}': a batch of symbolic size {level.size} cannot be unrolled; "
            "give it vmap_method='sequential', or None"
        )
    moving = [x for has, x in zip(level.mapped, ins, strict=True) if has]
    return jax.lax.scan(body, None, moving, unroll=unroll)[1]


def _batch_in_kernel(
    level: tracing.Level, ins: list[Any], kernel: NativeKernel, call: NativeCall, **_: Any
) -> list[Any]:
    """Call the kernel once, with the batch axis in front of every buffer, or of each that has it."""
    size = level.size
    front = {"expand_dims": (1,), "broadcast_all": (size,), "legacy_vectorized": ()}[str(kernel.vmap_method)]
    aliased = dict(kernel.aliases)
    whole = [
        x if has else jax.numpy.broadcast_to(x, ((size,) if i in aliased else front) + x.shape)
        for i, (has, x) in enumerate(zip(level.mapped, ins, strict=True))
    ]
    operands, batched = kernel.with_batch_axis(whole, call, size)
    results = call_kernel(kernel, batched, operands)
    return [y.reshape(size, *out.shape) for y, out in zip(results, call.outs, strict=True)]


native_call_p: Final = Primitive("native_kernel")
# JAX lowers equal calls of a primitive once, as a function, and each call of this one where it stands.
native_call_in_place_p: Final = Primitive("native_kernel")
for _primitive in (native_call_p, native_call_in_place_p):
    _primitive.multiple_results = True
    _primitive.def_impl(partial(xla.apply_primitive, _primitive))  # reached under jax.disable_jit
    _primitive.def_effectful_abstract_eval(_abstract)
    _cacheable = _primitive is native_call_p
    mlir.register_lowering(_primitive, _refuse_platform, cacheable=_cacheable)
    for _platform in ("cpu", "cuda"):
        _rule = partial(_lower, platform=_platform)
        mlir.register_lowering(_primitive, _rule, platform=_platform, cacheable=_cacheable)
    batching.primitive_batchers[_primitive] = _batch
    ad.primitive_jvps[_primitive] = lambda xs, ts, *, kernel, call, **_: kernel.jvp(xs, ts, call)
    ad.primitive_transposes[_primitive] = lambda cts, *ins, kernel, call, **_: kernel.transpose(
        cts, ins, call
    )
