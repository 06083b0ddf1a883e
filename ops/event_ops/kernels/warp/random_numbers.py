"""Philox2x32-10 and lookups in alias tables for Warp kernels: see kernels/reference/random_numbers.py."""

import warp as wp

from event_ops.kernels.reference import random_numbers

_ROUNDS = wp.constant(random_numbers.ROUNDS)
_MULTIPLIER = wp.constant(wp.uint64(random_numbers.MULTIPLIER))
_KEY_STEP = wp.constant(wp.uint32(random_numbers.KEY_STEP))


@wp.func
def philox2x32(x: wp.uint32, y: wp.uint32, key: wp.uint32):
    """Return two words for the counter (x, y)."""
    first = x
    second = y
    k = key
    for _ in range(_ROUNDS):
        product = wp.uint64(first) * _MULTIPLIER
        first = wp.uint32(product >> wp.uint64(32)) ^ k ^ second
        second = wp.uint32(product & wp.uint64(4294967295))
        k = k + _KEY_STEP
    return first, second


@wp.func
def outcome(
    tables: wp.array(dtype=wp.uint32), which: wp.int32, word: wp.uint32, bits: wp.uint32
) -> wp.uint32:
    """Return what a word chooses in table `which` of 2**bits slots."""
    cut_bits = wp.uint32(32) - bits
    slot = word >> cut_bits
    entry = tables[wp.int32(wp.uint32(which) << bits) + wp.int32(slot)]
    own = (word & ((wp.uint32(1) << cut_bits) - wp.uint32(1))) < (entry >> bits)
    return wp.where(own, slot, entry & ((wp.uint32(1) << bits) - wp.uint32(1)))
