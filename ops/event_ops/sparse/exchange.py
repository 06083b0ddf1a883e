"""`exchange_spikes`: all shards learn who spiked in several steps, by one all-gather."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array, check_dtype, check_rank, check_shape
from event_ops.checks.keywords import known_size


def exchange_spikes(
    spike_ids: ArrayLike,
    num_spikes: ArrayLike,
    axis_name: Hashable,
    *,
    first: ArrayLike,
    neurons: int,
    message: int,
    capacity: int,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """`all_ids[s]`: the ids of step s of shard 0, then of shard 1, ..., for some steps at once.

    Inside `jax.shard_map`. A network whose least delay is d steps calls it once in d steps: each shard lists
    the spikes of its own neurons, step by step, and none of them arrives before the last of these steps is
    done. What is returned is rows of a history, as `csr_event_arrivals` and `compact_event_arrivals` take it
    with encoding="ids". With neurons in the order of the shards ids ascend, so that the sums of the latter
    have the same bits for any number of shards.

    It communicates one all-gather, of 4 * (steps + message) bytes from each shard, and as many more as the
    shard with most spikes needs. Spikes for which the lists of a step have no room are counted, never passed
    over in silence: check that none is lost.

    Args:
        spike_ids: (steps, own), int32: row s as `spike_compact` returns it, counted from this shard's first
            neuron.
        num_spikes: (steps,), int32, as `spike_compact` returns them; they may exceed own.
        axis_name: the mesh axis of the shards.
        first: 0-d, int32, the first neuron of this shard.
        neurons: how many all shards have together, which marks places that are not used; static.
        message: how many ids a shard sends at once, of all steps; static. Time, not the result, depends on
            it: best is what a shard rarely exceeds.
        capacity: how many ids of one step are returned; static.

    Returns:
        all_ids: (steps, capacity), int32; unused places hold `neurons`.
        all_num_spikes: (steps,), int32, the spikes of all shards, also those for which there was no room.
        lost: 0-d, int32, how many of them are not in all_ids; 0 if own and capacity were enough.

    Raises:
        TypeError: a dtype other than int32.
        ValueError: shapes that do not fit, or a message or a capacity below 1.

    Source: Morrison et al. 2005, Neural Comput. 17:1776-1801, the exchange of NEST.
    """
    spike_ids, num_spikes, first = map(as_array, (spike_ids, num_spikes, first))
    for name, x in (("spike_ids", spike_ids), ("num_spikes", num_spikes), ("first", first)):
        check_dtype(name, x, ("int32",))
    check_rank("spike_ids", spike_ids, 2, "(steps, own), a list of each step")
    check_shape("num_spikes", num_spikes, spike_ids.shape[:1], why="one of each step, as spike_ids")
    check_shape("first", first, (), why="one neuron")
    steps, own = spike_ids.shape
    sizes = {"message": message, "capacity": capacity, "steps of spike_ids": steps, "own, its length": own}
    for name, size in sizes.items():
        known_size(name, size, least=1)
    neurons = known_size("neurons", neurons)
    listed = jnp.minimum(num_spikes, own)

    def message_from(start: Any) -> Any:
        return _joined(spike_ids, listed, start, message) + first

    # Counts and the first message in one gather: mostly there is no other.
    received = jax.lax.all_gather(jnp.concatenate([num_spikes, message_from(0)]), axis_name)
    counts = jnp.minimum(received[:, :steps], own)
    most = counts.sum(axis=1, dtype=counts.dtype).max()  # the same on all shards, so all take as many rounds
    rounds = -(-steps * own // message)
    # Room for every round now, as the shape of what a loop carries cannot grow.
    lists = jnp.pad(received[:, steps:], ((0, 0), (0, (rounds - 1) * message)))

    def one_more(carry: Any) -> Any:
        start, lists = carry
        more = jax.lax.all_gather(message_from(start), axis_name)
        return start + message, jax.lax.dynamic_update_slice_in_dim(lists, more, start, 1)

    start = jnp.asarray(message, counts.dtype)
    _, lists = jax.lax.while_loop(lambda carry: carry[0] < most, one_more, (start, lists))
    ids, listed_counts = _by_step(lists, counts, capacity, neurons)
    totals = received[:, :steps].sum(axis=0, dtype=counts.dtype)
    return ids, totals, (totals - listed_counts).sum(dtype=counts.dtype)


def _joined(lists: Any, counts: Any, start: Any, size: int) -> Any:
    """Return (size,), the lists joined, from place `start` on; behind their end stands any id."""
    ends, place = jnp.cumsum(counts), jnp.arange(size, dtype=counts.dtype) + start
    # There are few steps: all are compared at once, without a loop.
    step = jnp.searchsorted(ends, place, side="right", method="compare_all")
    return lists.at[step, place - (ends - counts).at[step].get(mode="clip")].get(mode="clip")


def _by_step(lists: Any, counts: Any, capacity: int, padding: int) -> tuple[Any, Any]:
    """Return (steps, capacity), the ids of each step out of the lists of all shards, and how many these are.

    counts: (shards, steps), how many ids of each step a shard has listed.
    """
    shards, ends = lists.shape[0], jnp.cumsum(counts, axis=0)
    begins = jnp.cumsum(counts, axis=1) - counts
    place = jnp.arange(capacity, dtype=counts.dtype)[None]
    shard = (place[None] >= ends[..., None]).sum(axis=0, dtype=counts.dtype)
    # Places behind all ids read any, and become padding below.
    which = jnp.minimum(shard, shards - 1)
    offset = (begins - ends + counts)[which, jnp.arange(counts.shape[1])[:, None]]
    ids = lists.at[which, offset + place].get(mode="clip")
    return jnp.where(shard < shards, ids, padding), jnp.minimum(ends[-1], capacity)
