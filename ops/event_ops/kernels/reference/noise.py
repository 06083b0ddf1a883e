"""Uniform and normal numbers from words of a counter-based generator: the same bits on every backend.

Neuron i has a word of 32 bits. Blocks of `SHARE` neurons share `BLOCK` counters: `philox2x32(counter, step,
key)` makes two words, the first for a neuron of the block's first half, the second for the one `BLOCK` places
behind it. So a loop over counters writes two runs of words, and vectorises. The key is the seed with bits
turned that are the distribution's own: operators of one seed draw independent numbers. Each stream has
counters of its own.

A normal number is the inverse of its distribution, which is linear in each of 128 pieces of every octave of
the probability: `m`, the word's low 31 bits, of which the last is set, stands for the tail m / 2**32, and the
top bit for the sign. As float32, m has the octave and the piece in its top bits, which find an entry of a
table, and the place in the piece in the next 12. An entry has the number where the piece begins, in 20 bits,
and how much it falls in the piece, in 12, both in units of 2**-16. A product of 12 and 12 bits and a
difference are exact in int32, so that the last rounding is that to float32, and no backend has another one.
Magnitudes are quantiles to 2e-5, and go up to 6.23: a larger one has a probability of 2**-31.

Source: Cheung et al., "Hardware generation of arbitrary random number distributions from uniform
distributions via the inversion method", IEEE Transactions on VLSI Systems 15(8), 2007.
"""

import functools
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.kernels.reference.random_numbers import philox2x32

BLOCK: Final = 64  # counters
SHARE: Final = 2 * BLOCK  # neurons
STREAM_BIT: Final = 30
STREAMS: Final = 4
DOMAINS: Final = {"normal": 0x6E6F726D, "uniform": 0x756E6966}  # what is turned in the seed

OCTAVES: Final = 31  # one for each bit of m
PIECE_BITS: Final = 7
PLACE_BITS: Final = 12
EXPONENT_SHIFT: Final = 23 - PIECE_BITS  # behind it, a float32 has its exponent and the piece
PLACE_SHIFT: Final = EXPONENT_SHIFT - PLACE_BITS
FIRST_ENTRY: Final = 127 << PIECE_BITS  # that of 1.0
PLACE_MASK: Final = (1 << PLACE_BITS) - 1
NORMAL_SCALE: Final = 2.0 ** -(16 + PLACE_BITS)
UNIFORM_BITS: Final = 24  # of which float32 has all multiples in [0, 1)
UNIFORM_SCALE: Final = 2.0**-UNIFORM_BITS


@functools.cache
def normal_table() -> np.ndarray:
    """(31 * 128 + 1,), int32: where each piece begins, and how much it falls; the last is for m = 2**31."""
    pieces = 1 << PIECE_BITS
    tails = [
        (1 + piece / pieces) * 2.0 ** (octave - 32) for octave in range(OCTAVES) for piece in range(pieces)
    ]
    quantile = NormalDist().inv_cdf
    begins = [*(round(-quantile(tail) * (1 << 16)) for tail in tails), 0]
    entries = [begin << PLACE_BITS | begin - end for begin, end in pairwise([*begins, 0])]
    table = np.array(entries, np.int32)
    table.setflags(write=False)  # callers keep it
    return table


def words_of(
    size: int, seed: jax.Array, step: jax.Array, first: jax.Array, distribution: str, stream: int = 0
) -> jax.Array:
    """(size,), uint32: the words of the neurons from `first` on."""
    # Each neuron makes both words and takes its own: XLA's loops over steps do not vectorise joined halves.
    neurons = jnp.arange(size, dtype="uint32") + first.astype("uint32")
    counters = neurons // SHARE * BLOCK + neurons % BLOCK + np.uint32(stream << STREAM_BIT)
    key = jnp.asarray(seed) ^ np.uint32(DOMAINS[distribution])
    of_first, of_second = philox2x32(counters, jnp.asarray(step), key)
    return jnp.where(neurons % SHARE < BLOCK, of_first, of_second)


def normals(words: jax.Array, table: jax.Array) -> jax.Array:
    """(n,), float32: the normal number of each word."""
    tails = (words & np.uint32(0x7FFFFFFF) | np.uint32(1)).astype(np.int32).astype(np.float32)
    bits = jax.lax.bitcast_convert_type(tails, np.int32)
    # Behind a barrier, as XLA does not vectorise a loop on the CPU that has a lookup in it.
    entries = jax.lax.optimization_barrier(table[(bits >> EXPONENT_SHIFT) - FIRST_ENTRY])
    places = bits >> PLACE_SHIFT & PLACE_MASK
    magnitudes = (entries & ~PLACE_MASK) - (entries & PLACE_MASK) * places
    numbers = magnitudes.astype(np.float32) * np.float32(NORMAL_SCALE)
    return jnp.where(words >> 31 == 1, -numbers, numbers)


def uniforms(words: jax.Array) -> jax.Array:
    """(n,), float32: the number in [0, 1) of each word, a multiple of 2**-24."""
    return (words >> np.uint32(32 - UNIFORM_BITS)).astype(np.float32) * np.float32(UNIFORM_SCALE)


def numbers_of(
    size: int,
    seed: jax.Array,
    step: jax.Array,
    first: jax.Array,
    table: jax.Array,
    distribution: str,
    stream: int = 0,
) -> jax.Array:
    """(size,), float32: the numbers of the neurons from `first` on; only normal ones need the table."""
    words = words_of(size, seed, step, jnp.asarray(first), distribution, stream)
    return normals(words, jnp.asarray(table)) if distribution == "normal" else uniforms(words)


def tables_of(*distributions: str) -> Any:
    """Return the table that numbers of these distributions need; an empty one where none does."""
    return normal_table() if "normal" in distributions else np.zeros(0, np.int32)


def streams_of(noise: Sequence[str]) -> list[tuple[str, int]]:
    """Return distribution and stream of each drawn number: 2 for "normal@2", and its place for "normal"."""
    parts = [drawn.partition("@") for drawn in noise]
    return [(name, int(stream or place)) for place, (name, _, stream) in enumerate(parts)]
