"""The operator `unpack_events`: checks, backends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.arrays import as_array, check_dtype, check_rank, check_shape
from event_ops.checks.keywords import known_size


def unpack_events(words: ArrayLike, n: int, *, backend: str | None = None) -> jax.Array:
    """`events[i] = words[i // 32] >> (i % 32) & 1`: the bools that `pack_events` packed.

    Bits that stand for no event are ignored. Leading axes through `jax.vmap`. No derivative.

    Args:
        words: (ceil(n / 32),), uint32.
        n: the number of events, static, >= 0.
        backend: run on this one or not at all; default: choose.

    Returns:
        events: (n,), bool.

    Raises:
        TypeError: words is not uint32, or n is no integer.
        ValueError: n < 0, or words has another shape.
    """
    words, size = as_array(words), known_size("n", n)
    check_dtype("words", words, ("uint32",))
    check_rank("words", words, 1, "32 events in each; use jax.vmap for more axes")
    check_shape("words", words, (-(-size // 32),), why=f"32 events in each, for n={size}")
    return kernel(words, outs=jax.ShapeDtypeStruct((size,), jnp.bool_), backend=backend)


kernel = define_operator("unpack_events", "event-driven", family="encodings")
