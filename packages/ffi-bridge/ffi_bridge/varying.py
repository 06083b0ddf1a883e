"""Manual mesh axes: under `shard_map`, an output varies over every axis that an input varies over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray


def align_varying(ins: Sequence[Any]) -> list[Any]:
    """The inputs, each made to vary over the union of their manual axes; JAX's gradients rely on it."""
    own = [jax.typeof(x).manual_axis_type.varying for x in ins]
    union = frozenset().union(*own)
    if not union:
        return list(ins)
    return [
        jax.lax.pcast(x, tuple(union - axes), to="varying") if union - axes else x
        for x, axes in zip(ins, own, strict=True)
    ]


def out_aval(shape: tuple[int, ...], dtype: np.dtype[Any], ins: Sequence[Any]) -> Any:
    """The abstract output of an operation on the abstract inputs `ins`, after `align_varying`."""
    if not ins or not ins[0].manual_axis_type.varying:
        return ShapedArray(shape, dtype)
    sharding = ins[0].sharding.update(spec=jax.sharding.PartitionSpec(*[None] * len(shape)))
    return ShapedArray(
        shape, dtype, sharding=sharding, manual_axis_type=ins[0].manual_axis_type
    )
