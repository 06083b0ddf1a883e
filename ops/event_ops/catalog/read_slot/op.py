"""The operator `read_slot`: checks, backends."""

from __future__ import annotations

from math import prod

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.arrays import NUMBERS, check_dtype
from event_ops.checks.inputs import as_input, reshaped
from event_ops.checks.ring_buffer import checked_slot


def read_slot(
    buffer: ArrayLike, slot: ArrayLike, *, backend: str | None = None
) -> tuple[jax.Array, jax.Array]:
    """`arrivals = buffer[slot % slots]; buffer[slot % slots] = 0`: take what arrives out of a ring buffer.

    The counterpart of `csr_event_deliver` in a loop over time steps. The buffer is updated in place where it
    is not needed again, so that the cost is that of the slot. Differentiable in buffer.

    Args:
        buffer: (slots, ...), slots >= 1; any real, complex or integer dtype that JAX has from 32 bits up.
        slot: 0-d or a Python int, the slot of the current step, taken modulo slots, so that the number of the
            step will do; int32, int64 or uint32. A counter in int32 loses its place after 2**31 steps, 59 h
            of 0.1 ms each, unless slots divides 2**32: for longer runs, carry (slot + 1) % slots.
        backend: run on this one or not at all; default: choose.

    Returns:
        arrivals: buffer.shape[1:], dtype of buffer.
        buffer: shape and dtype of buffer; 0 in the slot that was read, ready to be used again.

    Raises:
        TypeError: a dtype that is not taken.
        ValueError: slot is not 0-d, or buffer has no slots.
    """
    buffer = as_input(buffer)
    check_dtype("buffer", buffer, NUMBERS)
    slot = checked_slot("buffer", buffer, slot)
    slots, *rest = buffer.shape
    arrivals = jax.ShapeDtypeStruct((prod(rest),), buffer.dtype)
    whole = jax.ShapeDtypeStruct((slots, prod(rest)), buffer.dtype)
    arrived, cleared = kernel(reshaped(buffer, whole.shape), slot, outs=(arrivals, whole), backend=backend)
    return reshaped(arrived, tuple(rest)), reshaped(cleared, buffer.shape)


# Its derivatives are those of the reference.
kernel = define_operator("read_slot", "synapse", family="arrivals")
