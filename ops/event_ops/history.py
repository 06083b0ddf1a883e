"""Histories: the events of the last steps, one row for each, in a ring."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from event_ops.checks import FLOATS, check_dtype, check_rank, check_same_dtype, check_shape
from event_ops.entries import packed_flags
from event_ops.ring_buffer import check_slot, slot_index

ENCODINGS = ("flags", "bits")


def check_history(history: jax.Array, data: jax.Array, rows: int, slot: jax.Array, encoding: str) -> None:
    """Raise unless `history` has the events of `rows` neurons for each of its slots."""
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding is {encoding!r}; expected 'flags' or 'bits'")
    bits = encoding == "bits"
    width, what = (-(-rows // 32), "words") if bits else (rows, "events")
    check_rank("history", history, 2, f"(slots, {width}), the {what} of {rows} neurons in each of the steps")
    check_slot("history", history, slot)
    check_shape("history", history, (history.shape[0], width), why=f"slots, and the {what} of {rows} neurons")
    check_dtype("history", history, ("uint32",) if bits else ("bool", *FLOATS))
    if history.dtype in FLOATS:
        check_same_dtype("history", history, "data", data)


def lagged(history: jax.Array, slot: jax.Array, rows: int) -> jax.Array:
    """(rows * slots,), bools or numbers: element i * slots + d is the event of neuron i, d steps ago."""
    slots = history.shape[0]
    steps = jnp.remainder(slot_index(slot, slots) - jnp.arange(slots, dtype=jnp.int32), slots)
    recent = history[steps]
    if recent.dtype == jnp.uint32:
        recent = jax.vmap(partial(packed_flags, size=rows))(recent)
    return recent.T.reshape(-1)
