"""Ring buffers of pending input: check delays and slots, and find the slot in which a delay ends."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import check_countable, check_dtype, check_shape, counter
from event_ops.checks.contracts import ids_in
from event_ops.checks.inputs import as_input
from event_ops.checks.values import check_values

# Each holds any number of slots, and fits into the int64 of the kernels.
SLOTS = ("int32", "int64", "uint32")


def checked_slot(name: str, buffer: jax.Array, slot: Any) -> jax.Array:
    """Return `slot` as an array; raise unless `buffer`, called `name`, has slots and `slot` is one integer.

    A number that 32 bits may not hold is taken modulo the slots first.
    """
    if buffer.shape[:1] in ((), (0,)):
        raise ValueError(f"{name} has shape {buffer.shape}; expected (slots, ...) with at least one slot")
    if isinstance(slot, int | np.integer | np.ndarray) and not isinstance(slot, bool):
        number = np.asarray(slot)
        if number.ndim == 0 and number.dtype.kind in "iuO" and number.dtype.itemsize >= 8:
            slot = np.int32(int(number) % buffer.shape[0])
    array = as_input(slot, "slot")
    check_dtype("slot", array, SLOTS)
    check_shape("slot", array, (), why="the slot of the current step")
    return array


def check_delays(delays: Any, slots: int) -> None:
    """Raise ValueError unless all delays that are known now are in [0, slots)."""
    check_values("delays", delays, ids_in(slots, "slots of buffer"), "make buffer of max(delays) + 1 slots")


def slot_index(slot: jax.Array, slots: int) -> jax.Array:
    """Return `slot` modulo `slots`, as int32."""
    return jnp.remainder(slot, slots).astype(jnp.int32)


def arrival_slots(delays: jax.Array, slot: jax.Array, slots: int) -> jax.Array:
    """Return the slot in which each delay ends, or `slots` for a delay that is not in [0, slots)."""
    steps = delays if delays.dtype.itemsize >= 4 else delays.astype(jnp.int32)
    fits = (steps >= 0) & (steps < slots)
    ends = slot_index(slot, slots) + jnp.where(fits, steps, 0).astype(jnp.int32)
    return jnp.where(fits, ends % slots, slots)


def arrival_places(indices: Any, delays: Any, slot: Any, buffer: Any) -> jax.Array:
    """Return where in the flat buffer each entry adds, or the size of the buffer if it adds nothing."""
    (slots, columns), size = buffer.shape, buffer.size
    check_countable(size, "elements of buffer")
    arrival = arrival_slots(delays, slot, slots)
    inside = (arrival < slots) & (indices >= 0) & (indices < columns)
    index = counter(size)
    return jnp.where(inside, arrival.astype(index) * columns + indices.astype(index), size)
