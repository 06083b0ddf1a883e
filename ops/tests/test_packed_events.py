"""Packed events: the two operators are inverse to each other, also in batches; NumPy packs alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

from event_ops import pack_events, unpack_events


@pytest.mark.slow_cases("numba_cpu")
@backends("pack_events")
@pytest.mark.parametrize("n", [1, 31, 32, 33, 1000])
def test_unpacking_is_the_inverse_and_numpy_packs_alike(backend, n):
    events = np.random.default_rng(n).random(n) < 0.3
    words = pack_events(events, backend=backend)
    padded = np.pad(events, (0, -n % 32))
    np.testing.assert_array_equal(words, np.packbits(padded, bitorder="little").view("<u4"))
    np.testing.assert_array_equal(unpack_events(words, n, backend=backend), events)


@pytest.mark.slow_cases("numba_cpu")
@backends("pack_events")
def test_batches_of_odd_length_are_packed_one_by_one(backend):
    events = np.random.default_rng(0).random((3, 2, 45)) < 0.5
    pack = jax.vmap(jax.vmap(lambda e: pack_events(e, backend=backend)))
    unpack = jax.vmap(jax.vmap(lambda w: unpack_events(w, n=45, backend=backend)))
    words = pack(jnp.asarray(events))
    assert words.shape == (3, 2, 2)
    np.testing.assert_array_equal(words[1, 1], pack_events(events[1, 1]))
    np.testing.assert_array_equal(unpack(words), events)
