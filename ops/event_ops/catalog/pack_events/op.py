"""The operator `pack_events`: checks, backends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.arrays import as_array, check_dtype, check_rank


def pack_events(events: ArrayLike, *, backend: str | None = None) -> jax.Array:
    """`words[i // 32] >> (i % 32) & 1 == events[i]`: 32 events in a word, an eighth of the memory of bools.

    `unpack_events` is the inverse. Leading axes through `jax.vmap`. No derivative: the output is no float.

    Args:
        events: (n,), bool.
        backend: run on this one or not at all; default: choose.

    Returns:
        words: (ceil(n / 32),), uint32; bits that stand for no event are 0.

    Raises:
        TypeError: events is not bool.
        ValueError: events is not 1-d.
    """
    events = as_array(events)
    check_dtype("events", events, ("bool",))
    check_rank("events", events, 1, "one per neuron; use jax.vmap for more axes")
    outs = jax.ShapeDtypeStruct((-(-events.shape[0] // 32),), jnp.uint32)
    return kernel(events, outs=outs, backend=backend)


kernel = define_operator("pack_events", "event-driven", family="encodings")
