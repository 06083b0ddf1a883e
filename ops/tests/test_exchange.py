"""`exchange_spikes` returns the spikes of all shards, step by step, and counts those it has no room for."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import exchange_spikes, spike_compact

SHARDS, STEPS, OWN = 3, 5, 40
NEURONS = SHARDS * OWN


def exchanged(spikes, own=OWN, **rooms):
    """Return what every shard gets; `spikes` is (shards, steps, own), bool."""

    def of_shard(spikes, first):
        ids, counts = jax.vmap(partial(spike_compact, capacity=own, backend="reference"))(spikes)
        return exchange_spikes(ids, counts, "shards", first=first, neurons=NEURONS, **rooms)

    firsts = jnp.arange(SHARDS, dtype=jnp.int32) * OWN
    each = jax.jit(jax.vmap(of_shard, axis_name="shards"))(spikes, firsts)
    return [np.asarray(x) for x in each]


def spikes_at(rate, seed=0):
    return np.random.default_rng(seed).random((SHARDS, STEPS, OWN)) < rate


@pytest.mark.parametrize("rate", [0, 0.1, 1])
def test_every_shard_has_all_spikes_in_order(rate):
    spikes = spikes_at(rate)
    ids, counts, lost = exchanged(spikes, message=STEPS * OWN, capacity=NEURONS)
    whole = spikes.transpose(1, 0, 2).reshape(STEPS, NEURONS)
    for shard in range(SHARDS):
        for step, expected in enumerate(map(np.flatnonzero, whole)):
            padding = np.full(NEURONS - expected.size, NEURONS)
            np.testing.assert_array_equal(ids[shard, step], [*expected, *padding])
    np.testing.assert_array_equal(counts, np.broadcast_to(whole.sum(axis=1), (SHARDS, STEPS)))
    assert not lost.any()


@pytest.mark.slow
def test_short_messages_take_more_rounds():
    spikes = spikes_at(0.3, seed=2)
    whole = exchanged(spikes, message=STEPS * OWN, capacity=NEURONS)
    for message in (1, 7, 33, 1000):
        for found, expected in zip(exchanged(spikes, message=message, capacity=NEURONS), whole, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("small", ["own", "capacity"])
@pytest.mark.parametrize("room", [1, 7])
def test_what_has_no_room_is_counted(small, room):
    spikes = spikes_at(0.3, seed=1)
    rooms = {"own": OWN, "message": STEPS * OWN, "capacity": NEURONS} | {small: room}
    ids, counts, lost = exchanged(spikes, **rooms)
    listed = (ids < NEURONS).sum(axis=(1, 2))
    np.testing.assert_array_equal(counts.sum(axis=1), [spikes.sum()] * SHARDS)
    np.testing.assert_array_equal(lost, counts.sum(axis=1) - listed)
    assert lost.all()
    whole = spikes.transpose(1, 0, 2).reshape(STEPS, NEURONS)
    for step, row in enumerate(ids[0]):
        known = row[row < NEURONS]
        assert (
            whole[step, known].all() and (np.diff(known) > 0).all() and (row[known.size :] == NEURONS).all()
        )


def test_wrong_arguments_are_named():
    ids, counts, first = jnp.zeros((2, 3), jnp.int32), jnp.zeros(2, jnp.int32), jnp.int32(0)
    rooms = {"first": first, "neurons": 6, "message": 4, "capacity": 4}
    with pytest.raises(TypeError, match="spike_ids has dtype float32"):
        exchange_spikes(ids.astype(jnp.float32), counts, "i", **rooms)
    with pytest.raises(ValueError, match="num_spikes has shape"):
        exchange_spikes(ids, counts[:1], "i", **rooms)
    with pytest.raises(ValueError, match="message is 0; expected an integer >= 1"):
        exchange_spikes(ids, counts, "i", **rooms | {"message": 0})
    with pytest.raises(ValueError, match="own, its length is 0"):
        exchange_spikes(ids[:, :0], counts, "i", **rooms)
