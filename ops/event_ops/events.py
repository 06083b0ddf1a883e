"""`Events`: says that an operand is events, so that a product costs what the active ones cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
from jax import export
from jax.tree_util import GetAttrKey
from jax.typing import ArrayLike

from event_ops.checks import FLOATS, as_array, check_dtype


@dataclass(frozen=True, eq=False, init=False)
class Events:
    """`A @ Events(x)`, `Events(x) @ A`: the products of a `CSR` over the active elements of x.

    Active is a bool that is True, which counts as 1, and a float that is not zero, which counts as its value;
    inactive elements contribute exactly 0, even where their weight is NaN. A pytree with one leaf.

    Args:
        values: (n,), or a matrix with one vector of events per column (per row in `Events(x) @ A`); bool, or
            the dtype of the matrix. Or (capacity,) int32: spike ids, as `spike_compact` returns them.

    Raises:
        TypeError: values of another dtype.
        ValueError: values that are neither a vector nor a matrix.
    """

    values: jax.Array

    def __init__(self, values: ArrayLike) -> None:
        events = as_array(values)
        check_dtype("values", events, ("bool", *FLOATS, "int32"))
        if events.ndim not in (1, 2):
            raise ValueError(f"values has shape {events.shape}; expected (n,), or a matrix of such vectors")
        if events.ndim == 2 and events.dtype == "int32":
            raise TypeError("values has dtype int32, spike ids, and 2 dimensions; expected (capacity,)")
        vars(self).update(values=events)


def _flatten(events: Events) -> tuple[tuple[Any], None]:
    return (events.values,), None


def _flatten_with_keys(events: Events) -> tuple[tuple[Any], None]:
    return ((GetAttrKey("values"), events.values),), None


def _unflatten(_: None, leaves: Iterable[Any]) -> Events:
    events = object.__new__(Events)
    vars(events).update(zip(("values",), leaves, strict=True))  # unseen: JAX passes more than arrays
    return events


jax.tree_util.register_pytree_with_keys(Events, _flatten_with_keys, _unflatten, _flatten)
export.register_pytree_node_serialization(
    Events,
    serialized_name="event_ops.Events",
    serialize_auxdata=lambda _: b"",
    deserialize_auxdata=lambda _: None,
)
