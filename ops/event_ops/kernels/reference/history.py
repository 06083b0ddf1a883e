"""Histories: the events of the last steps, one row for each, in a ring."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import FLOATS, check_factor_dtype, check_rank, check_shape
from event_ops.checks.csr import check_encoded
from event_ops.checks.ring_buffer import checked_slot, slot_index
from event_ops.kernels.reference.entries import one_each

_WIDTHS: dict[str, Callable[[int], tuple[Any, str]]] = {
    "flags": lambda rows: (rows, "events"),
    "counts": lambda rows: (rows, "counts of spikes"),
    "bits": lambda rows: (-(-rows // 32), "words"),
    "ids": lambda rows: ("capacity", "spike ids"),
}


def checked_slot_of(
    history: jax.Array, data: jax.Array, rows: int, slot: Any, encoding: str, data_name: str = "data"
) -> jax.Array:
    """Return `slot` as an array; raise unless `history` has the events of `rows` neurons for each slot."""
    check_encoded("history", history, encoding)
    width, content = _WIDTHS[encoding](rows)
    check_rank(
        "history", history, 2, f"(slots, {width}), the {content} of {rows} neurons in each of the steps"
    )
    array = checked_slot("history", history, slot)
    if encoding != "ids":
        why = f"slots, and the {content} of {rows} neurons"
        check_shape("history", history, (history.shape[0], width), why=why)
    if history.dtype in FLOATS:
        check_factor_dtype("history", history, data_name, data)
    return array


def lagged(history: jax.Array, slot: jax.Array, rows: int, dtype: Any) -> jax.Array:
    """(rows * slots,), bools or numbers: element i * slots + d is the event of neuron i, d steps ago.

    Spike ids are counted, and counts are read, in `dtype`.
    """
    slots = history.shape[0]
    steps = jnp.remainder(slot_index(slot, slots) - jnp.arange(slots, dtype=jnp.int32), slots)
    recent = jax.vmap(partial(one_each, size=rows, dtype=dtype))(history[steps])
    return recent.T.reshape(-1)
