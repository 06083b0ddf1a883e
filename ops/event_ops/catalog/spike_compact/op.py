"""The operator `spike_compact`: checks, backends."""

from __future__ import annotations

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks.arrays import as_array, check_dtype, check_rank
from event_ops.checks.keywords import known_size


def spike_compact(
    spikes: ArrayLike, *, capacity: int | None = None, backend: str | None = None
) -> tuple[jax.Array, jax.Array]:
    """`spike_ids[:num_spikes] = flatnonzero(spikes)`: the ids of the neurons that spiked, in ascending order.

    With more spikes than capacity, spike_ids holds the first of them and num_spikes counts all.
    No derivative: the outputs are integers.

    Args:
        spikes: (n,), bool.
        capacity: length of spike_ids, static, >= 0; default: n, which is always enough.
        backend: run on this one or not at all; default: choose.

    Returns:
        spike_ids: (capacity,), int32; unused places hold n, out of range for n neurons.
        num_spikes: 0-d, int32.

    Raises:
        TypeError: spikes is not bool, or capacity is no integer.
        ValueError: spikes is not 1-d or too long for int32, or capacity < 0.

    Example:
        >>> import numpy as np
        >>> from event_ops import spike_compact
        >>> spike_compact(np.array([False, True, False, True]))
        (Array([1, 3, 4, 4], dtype=int32), Array(2, dtype=int32))
    """
    spikes = as_array(spikes)
    check_dtype("spikes", spikes, ("bool",))
    check_rank("spikes", spikes, 1, "one per neuron")
    spike_ids, num_spikes = kernel(spikes, outs=list_outs(spikes.shape[0], capacity), backend=backend)
    return spike_ids, num_spikes


def list_outs(size: int, capacity: int | None) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    """Return the outputs spike_ids and num_spikes for `size` neurons; raise as `spike_compact` does."""
    if size > np.iinfo(np.int32).max:
        raise ValueError(f"spikes has {size} elements; ids are int32: split the population")
    length = size if capacity is None else known_size("capacity", capacity)
    return jax.ShapeDtypeStruct((length,), np.int32), jax.ShapeDtypeStruct((), np.int32)


kernel = define_operator("spike_compact", "event-driven", family="encodings")
