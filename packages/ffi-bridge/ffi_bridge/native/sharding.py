"""Types of an operator's inputs and outputs on a device mesh (`jax.shard_map`, explicit axes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
from jax.core import ShapedArray
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from ffi_bridge.errors import ShardedInputError
from ffi_bridge.native.vmap_axes import Levels

ORDERED_ON_SEVERAL: Final = (0, 11)  # jax; see check_side_effects


def align_varying(ins: Sequence[Any]) -> list[Any]:
    """Return the inputs, each made to vary over the union of their manual axes; gradients need that."""
    own = [jax.typeof(x).manual_axis_type.varying for x in ins]
    union = frozenset().union(*own)
    if not union:
        return list(ins)
    return [
        jax.lax.pcast(x, tuple(union - axes), to="varying") if union - axes else x
        for x, axes in zip(ins, own, strict=True)
    ]


def output_type(shape: tuple[int, ...], dtype: Any, inputs: Sequence[Any], batch: Sequence[Any] = ()) -> Any:
    """Return the abstract value of an output: split as `batch` says, varying as the inputs do."""
    mesh = _mesh(inputs)
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
    found: list[Any] = [None] * len(levels)
    for i, x in enumerate(inputs):
        own = [k for k, level in enumerate(levels) if level.mapped[i]]
        spec = list(x.sharding.spec)
        for k, axes in zip(own, spec, strict=False):
            if axes is not None and found[k] in (None, axes):
                found[k], spec[own.index(k)] = axes, None
        if any(axis is not None for axis in spec) or x.manual_axis_type.unreduced:
            raise ShardedInputError(
                f"operator {operator!r}: input {i} is {x.str_short()}, split over explicit mesh "
                "axes, and the operator is defined on whole arrays; call it inside jax.shard_map "
                "on each device's part, or gather the input first with jax.sharding.reshard"
            )
    return found


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


def _mesh(inputs: Sequence[Any]) -> Any:
    for x in inputs:
        if not x.sharding.mesh.empty:
            return x.sharding.mesh
    return jax.sharding.get_abstract_mesh()
