"""Tell JAX of a call while it traces: batch levels, shardings over a device mesh, side effects.

Tokens keep calls in the order of the program. XLA passes a token to a handler as one more buffer, without
memory: the last operand, and the last result.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any, Final, NamedTuple

import jax
import numpy as np
from jax.core import ShapedArray
from jax.experimental import io_callback
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from ffi_bridge.errors import KernelDefinitionError, ShardedInputError


class Level(NamedTuple):
    """One `jax.vmap`: its size, and which inputs have its axis."""

    size: int
    mapped: tuple[bool, ...]

    @property
    def axes(self) -> tuple[int | None, ...]:
        """Return the mapped axis of each input as `jax.vmap` takes it: 0 or None."""
        return tuple(0 if mapped else None for mapped in self.mapped)


Levels = tuple[Level, ...]  # outermost first, as the axes of the inputs that have them


def add_level(ins: Sequence[Any], axes: Sequence[int | None]) -> tuple[list[Any], Level]:
    """Return the inputs with their mapped axes in front, and the outermost level that says so."""
    size = next(x.shape[axis] for x, axis in zip(ins, axes, strict=True) if axis is not None)
    # An axis that is in front is not moved: outside of jit that would be a program of its own.
    moved = [jax.numpy.moveaxis(x, axis, 0) if axis else x for x, axis in zip(ins, axes, strict=True)]
    return moved, Level(size, tuple(axis is not None for axis in axes))


def sizes_of(levels: Levels) -> tuple[int, ...]:
    """Return the leading dimensions of every output."""
    return tuple(level.size for level in levels)


ORDERED_ON_SEVERAL: Final = (0, 11)  # jax; see check_side_effects


def align_varying(ins: Sequence[Any]) -> list[Any]:
    """Return the inputs, each made to vary over the union of their manual axes; gradients need that."""
    varying = [jax.typeof(x).manual_axis_type.varying for x in ins]
    all_varying = frozenset().union(*varying)
    if not all_varying:
        return list(ins)
    return [
        jax.lax.pcast(x, tuple(all_varying - axes), to="varying") if all_varying - axes else x
        for x, axes in zip(ins, varying, strict=True)
    ]


def output_type(shape: tuple[int, ...], dtype: Any, inputs: Sequence[Any], batch: Sequence[Any] = ()) -> Any:
    """Return the abstract value of an output: split as `batch` says, varying as the inputs do."""
    meshes = (x.sharding.mesh for x in inputs if not x.sharding.mesh.empty)
    mesh = next(meshes, jax.sharding.get_abstract_mesh())
    if mesh.empty:
        return ShapedArray(shape, dtype)
    spec = PartitionSpec(*batch, *[None] * (len(shape) - len(batch)))
    # Take the first that varies: under check_vma=False none does, and literals never do.
    types = [x.manual_axis_type for x in inputs if x.manual_axis_type.varying]
    keywords = {"manual_axis_type": types[0]} if types else {}
    return ShapedArray(shape, dtype, sharding=NamedSharding(mesh, spec), **keywords)


def check_whole(operator: str, inputs: Sequence[Any], levels: Levels = ()) -> list[Any]:
    """Return the explicit mesh axes that each batch level is split over, None for none.

    Raises ShardedInputError for an input that is split along another axis: JAX would otherwise gather the
    whole array on every device, without a word.
    """
    split_over: list[Any] = [None] * len(levels)
    for i, x in enumerate(inputs):
        mapped = [k for k, level in enumerate(levels) if level.mapped[i]]
        spec = list(x.sharding.spec)
        for k, axes in zip(mapped, spec, strict=False):
            # Inputs that are split alike along a batch level stay so.
            if axes is not None and split_over[k] in (None, axes):
                split_over[k], spec[mapped.index(k)] = axes, None
        # An array that is unreduced has a part of each sum on every device.
        if any(axis is not None for axis in spec) or x.manual_axis_type.unreduced:
            raise ShardedInputError(
                f"operator {operator!r}: input {i} is {x.str_short()}, split over explicit mesh "
                "axes, and the operator is defined on whole arrays; call it inside jax.shard_map "
                "on each device's part, or gather the input first with jax.sharding.reshard"
            )
    return split_over


def check_side_effects(kernel: str, ordered: bool, context: Any) -> None:
    """Raise ShardedInputError for a call with side effects that several devices cannot make once each.

    XLA would otherwise stop with an error of its own. jaxlib before 0.11 ends the process when it stores a
    program of several devices in JAX's compilation cache in which calls are ordered.
    """
    if isinstance(context, mlir.SPMDAxisContext):
        count, each = context.mesh.size, context.manual_axes == frozenset(context.mesh.axis_names)
    else:
        count, each = getattr(context, "num_devices", 1), False
    if count > 1 and not each:
        raise ShardedInputError(
            f"kernel '{kernel}' has side effects, and its program leaves to XLA which of several devices run "
            "it; call it inside jax.shard_map over all axes of the mesh, where each device runs it, or put "
            "its inputs on one device"
        )
    if count > 1 and ordered and jax.__version_info__ < ORDERED_ON_SEVERAL:
        newer = ".".join(map(str, ORDERED_ON_SEVERAL))
        raise ShardedInputError(
            f"kernel '{kernel}' is ordered, and its program runs on {count} devices, for which jax "
            f"{jax.__version__} is too old; install jax {newer}, take has_side_effect=True, or put "
            "its inputs on one device"
        )


# Who calls kernels that may have no side effects; empty where they may. A part of `jax.jit`'s keys: a call
# that was traced where it may have some is traced again.
_REFUSED_IN: Final = jax.make_user_context("")


@cache
def effects_of_call(ordered: bool) -> frozenset[Any]:
    """Return the effects of a foreign call with side effects, for which JAX keeps it if nobody reads it.

    One is that of callbacks: JAX would select between the results of both branches of a `cond` in `jax.vmap`,
    and run a `while_loop` for each element until the last one ends, and refuses so where there are callbacks.
    """
    nothing = jax.ShapeDtypeStruct((), np.float32)
    # A target that never exists: only the effects are wanted that JAX gives to such a call.
    call = jax.ffi.ffi_call("with_side_effects", nothing, has_side_effect=True)
    # An ordered call has the others, too: JAX calls a program that `Lowered.compile` made without its tokens
    # if there are ordered effects alone.
    callback_effects = {callback_effect(ordered=False)} | (
        {callback_effect(ordered=True)} if ordered else set()
    )
    return frozenset(jax.make_jaxpr(call)().effects) | callback_effects


@cache
def callback_effect(ordered: bool) -> Any:
    """Return an effect that equals that of callbacks: kernels and ordered callbacks have one order.

    Unlike that, it equals every other one of its class, which is what `jax.export` can write and read.
    """
    # JAX exports no name of this effect: a traced callback has it.
    (of_callbacks,) = jax.make_jaxpr(partial(io_callback, print, None, ordered=ordered))().effects
    base: Any = type(of_callbacks)

    class Call(base):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, base)

        def __hash__(self) -> int:
            return hash(of_callbacks)

    # By its name an exported program finds the class.
    Call.__qualname__ = "OrderedCall" if ordered else "UnorderedCall"
    # JAX lowers programs with effects of known classes only.
    mlir.lowerable_effects.add_type(Call)
    return Call()


def refused_in(whose: str) -> AbstractContextManager[None]:
    """Return a block in which calls with side effects, which belong to `whose`, are refused when traced."""
    return _REFUSED_IN(whose)


def check_allowed(kernel: str) -> None:
    """Raise KernelDefinitionError for a call with side effects, or in order, where they are refused."""
    if whose := _REFUSED_IN.value:
        raise KernelDefinitionError(
            f"{whose} calls kernel '{kernel}', which has side effects: JAX takes calls of an operator for "
            "functions of their inputs, and makes as many as it needs; call the kernel outside the operator, "
            "or wrap it without has_side_effect=True and ordered=True"
        )


def lower_in_order(rule: Callable[..., Sequence[Any]], ctx: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Lower a call by `rule` with the token of the ordered call before it, and leave one for the next."""
    (token,) = jax.make_jaxpr(jax.lax.create_token)().out_avals
    around = ctx.replace(avals_in=[*ctx.avals_in, token], avals_out=[*ctx.avals_out, token])
    order = callback_effect(ordered=True)
    *results, after = rule(around, *operands, ctx.tokens_in.get(order))
    ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({order: after})))
    return results
