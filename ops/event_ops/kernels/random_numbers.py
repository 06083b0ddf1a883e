"""Random numbers of one neuron or entry: functions of words that Numba, Numba-CUDA and Warp compile alike.

Each is written once, of typed scalars, in the language that the three have in common; `compiled` makes the
functions of a target. In Warp's, `np` and `math` are Warp, which has types and functions of the same names,
but converts no number by itself: hence the casts. Numba widens 32-bit integers to 64 bits, where they would
not wrap round: hence those of results. Numba-CUDA takes `math.sqrt` in a device function, but not `np.sqrt`.
The modules of kernels/reference say what is computed.
"""

import math
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from event_ops.checks.contracts import MAX_MEAN
from event_ops.kernels.reference import noise, poisson
from event_ops.kernels.reference.bernoulli import NORMAL_STREAM
from event_ops.kernels.reference.random_numbers import KEY_STEP, MULTIPLIER, ROUNDS

_WORD = 0xFFFFFFFF
_TURN = 2 * math.pi

# Warp reads names of modules as numbers, but not the attributes of a module.
_NORMAL, _UNIFORM = noise.DOMAINS["normal"], noise.DOMAINS["uniform"]
_BLOCK, _BLOCK_BITS, _NOISE_STREAM_BIT = noise.BLOCK, noise.BLOCK.bit_length() - 1, noise.STREAM_BIT
_EXPONENT_SHIFT, _PLACE_SHIFT, _FIRST_ENTRY = noise.EXPONENT_SHIFT, noise.PLACE_SHIFT, noise.FIRST_ENTRY
_PLACE_MASK, _BEGIN_MASK, _NORMAL_SCALE = noise.PLACE_MASK, ~noise.PLACE_MASK, noise.NORMAL_SCALE
_UNIFORM_SHIFT, _UNIFORM_SCALE = 32 - noise.UNIFORM_BITS, noise.UNIFORM_SCALE
_OPEN, _NUMBER_BITS, _TABLE_BITS = poisson.OPEN, poisson.NUMBER_BITS, poisson.TABLE_BITS
_SHARE_OF_BYTES, _SHARE_OF_WORDS = poisson.SHARE_OF_BYTES, poisson.SHARE_OF_WORDS
_POISSON_STREAM_BIT = poisson.STREAM_BIT
_PARTS, _BASE, _REST, _SECOND_TABLE = poisson.PARTS, poisson.BASE, poisson.REST, poisson.FIRST_TABLES[1]


# In 64 bits throughout: with a conversion in every round the CPU's loop over counters takes twice as long.
def philox2x32(x: Any, y: Any, key: Any) -> Any:
    """Return two words, as uint64, for the counter (x, y)."""
    first, second, k = np.uint64(x), np.uint64(y), np.uint64(key)
    for _ in range(ROUNDS):
        product = (first & np.uint64(_WORD)) * np.uint64(MULTIPLIER)
        first, second = (product >> np.uint64(32)) ^ k ^ second, product & np.uint64(_WORD)
        k = (k + np.uint64(KEY_STEP)) & np.uint64(_WORD)
    return first, second


def place_of(first: Any, word: Any, bits: Any) -> Any:
    """Return where `word` looks in the table of 2**bits slots that begins at `first`; all uint32."""
    return first + (word >> np.uint32(np.uint32(32) - bits))


def outcome(entry: Any, word: Any, bits: Any) -> Any:
    """Return the outcome that `word` chooses, given the entry at its place; all uint32."""
    cut = np.uint32(np.uint32(32) - bits)
    is_own = np.uint32(word & np.uint32((np.uint32(1) << cut) - np.uint32(1))) < np.uint32(entry >> bits)
    alias = np.uint32(entry & np.uint32((np.uint32(1) << bits) - np.uint32(1)))
    return np.uint32(word >> cut) if is_own else alias


def chosen(table: Any, first: Any, word: Any, bits: Any) -> Any:
    """Return the outcome of `word` in the table of 2**bits slots that begins at `first`; all uint32."""
    return outcome(table[place_of(first, word, bits)], word, bits)


def unit_uniform(word: Any, like: Any) -> Any:
    """Return a number in [0, 1), a multiple of 2**-24, in the type of `like`."""
    return type(like)(np.uint32(word) >> np.uint32(8)) * type(like)(5.9604644775390625e-08)


def unit_normal(seed: Any, row: Any, column: Any, like: Any) -> Any:
    """Return the standard normal deviate of an entry, by Box and Muller, in the type of `like`."""
    first, second = philox2x32(np.uint32(column) | np.uint32(NORMAL_STREAM), row, seed)
    radius = math.sqrt(type(like)(-2.0) * math.log(type(like)(1.0) - unit_uniform(first, like)))
    return radius * math.cos(type(like)(_TURN) * unit_uniform(second, like))


def constant_weight(weight: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """Return the weight of every entry."""
    return weight[0]


def uniform_weight(weight: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """Return the weight of an entry, uniform between weight[0] and weight[1]."""
    return weight[0] + (weight[1] - weight[0]) * unit_uniform(word, weight[0])


def normal_weight(weight: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """Return the weight of an entry, with mean weight[0] and deviation weight[1]."""
    return weight[0] + weight[1] * unit_normal(seed, row, column, weight[0])


def noise_word(neuron: Any, stream: Any, time: Any, key: Any) -> Any:
    """Return the word of a neuron, as uint64: the first or second of a counter, by its half of the block."""
    i = np.uint64(neuron)
    half = i >> np.uint64(_BLOCK_BITS)
    counter = (half >> np.uint64(1) << np.uint64(_BLOCK_BITS)) + (i & np.uint64(_BLOCK - 1))
    first, second = philox2x32((np.uint64(stream) << np.uint64(_NOISE_STREAM_BIT)) + counter, time, key)
    return second if (half & np.uint64(1)) != np.uint64(0) else first


def float_bits(x: Any) -> Any:
    """Return the bits of a float32, as int32."""
    return x.view(np.int32)


def normal(neuron: Any, stream: Any, time: Any, seed: Any, table: Any) -> Any:
    """Return the normal number of a neuron, as float32."""
    word = noise_word(neuron, stream, time, np.uint64(seed) ^ np.uint64(_NORMAL))
    bits = float_bits(np.float32(np.int32((word & np.uint64(0x7FFFFFFF)) | np.uint64(1))))
    entry = table[np.int32((bits >> np.int32(_EXPONENT_SHIFT)) - np.int32(_FIRST_ENTRY))]
    place = (bits >> np.int32(_PLACE_SHIFT)) & np.int32(_PLACE_MASK)
    fall = np.int32((entry & np.int32(_PLACE_MASK)) * place)
    size = np.float32(np.int32((entry & np.int32(_BEGIN_MASK)) - fall)) * np.float32(_NORMAL_SCALE)
    return -size if (word >> np.uint64(31)) != np.uint64(0) else size


def uniform(neuron: Any, stream: Any, time: Any, seed: Any, table: Any) -> Any:
    """Return the uniform number of a neuron, as float32; it needs no table."""
    word = noise_word(neuron, stream, time, np.uint64(seed) ^ np.uint64(_UNIFORM))
    return np.float32(np.int32(word >> np.uint64(_UNIFORM_SHIFT))) * np.float32(_UNIFORM_SCALE)


def poisson_bits(counter: Any, stream: Any, time: Any, key: Any) -> Any:
    """Return 64 bits of a stream, which neurons share."""
    place = (np.uint64(stream) << np.uint64(_POISSON_STREAM_BIT)) + np.uint64(counter)
    first, second = philox2x32(place, time, key)
    return first | (second << np.uint64(32))


def poisson_byte(neuron: Any, time: Any, key: Any) -> Any:
    """Return the byte of a neuron, as uint32."""
    i, share = np.uint64(neuron), np.uint64(_SHARE_OF_BYTES)
    bits = poisson_bits(i // share, 0, time, key) >> ((i % share) * (np.uint64(64) // share))
    return np.uint32(bits & np.uint64(255))


def poisson_word(neuron: Any, stream: Any, time: Any, key: Any) -> Any:
    """Return the word of a neuron in a stream, as uint32."""
    i, share = np.uint64(neuron), np.uint64(_SHARE_OF_WORDS)
    bits = poisson_bits(i // share, stream, time, key)
    return np.uint32((bits >> ((i % share) * np.uint64(32))) & np.uint64(_WORD))


def rest_number(rest: Any, word: Any) -> Any:
    """Return the number that a word chooses for a rest; all uint32."""
    half = rest >> np.uint32(5)
    twice = np.uint32(np.uint32(half * half) >> np.uint32(23))
    return np.uint32(word < np.uint32(rest - twice)) + np.uint32(word < twice)


def known_poisson(which: Any, tables: Any, neuron: Any, time: Any, key: Any) -> Any:
    """Return the Poisson number of a neuron whose mean has the table `which`, as float32."""
    bits, table = np.uint32(_NUMBER_BITS), np.uint32(np.uint32(which) << np.uint32(_TABLE_BITS))
    number = np.uint32(tables[table + poisson_byte(neuron, time, key)] & np.uint32(_OPEN))
    if number == np.uint32(_OPEN):
        rest = np.uint32(table + np.uint32(np.uint32(1) << bits))
        number = chosen(tables, rest, poisson_word(neuron, 1, time, key), bits)
    return np.float32(number)


def traced_poisson(mean: Any, tables: Any, neuron: Any, time: Any, key: Any) -> Any:
    """Return the Poisson number of a mean, by digits and a rest, as float32; NaN where it is out of range."""
    if not (mean >= type(mean)(0) and mean <= type(mean)(MAX_MEAN)):
        return np.float32(np.nan)
    left, base, table, number = mean, 1, 0, np.uint32(0)
    bits = np.uint32(_NUMBER_BITS)
    for part in range(_PARTS):
        scaled = left * type(mean)(base)
        digit = np.int32(scaled)
        left = scaled - type(mean)(digit)
        begin, word = np.uint32(table + digit) << bits, poisson_word(neuron, part, time, key)
        number = np.uint32(number + chosen(tables, np.uint32(begin), word, bits))
        table, base = table + base if part else _SECOND_TABLE, _BASE
    scaled = left * type(mean)(_REST)
    rest = np.int32(scaled)
    rounded = np.uint32(rest) + np.uint32(scaled - type(mean)(rest) >= type(mean)(0.5))
    word = poisson_word(neuron, _PARTS, time, key)
    return np.float32(np.uint32(number + rest_number(np.uint32(rounded), word)))


_FUNCTIONS = (
    float_bits, philox2x32, place_of, outcome, chosen, unit_uniform, unit_normal, constant_weight,
    uniform_weight, normal_weight, noise_word, normal, uniform, poisson_bits, poisson_byte, poisson_word,
    rest_number, known_poisson, traced_poisson,
)  # fmt: skip


def compiled(jit: Callable[[Any], Any], numbers: Any = np, **replaced: Any) -> SimpleNamespace:
    """Return the functions as `jit` compiles them; each calls compiled forms.

    Two dictionaries go with them: `weights` and `numbers`, the functions of a distribution by its name.

    numbers: the module that `np` names in the functions. replaced: what a target has itself, by name.
    """
    namespace = {"np": numbers, **replaced}
    for function in _FUNCTIONS:
        if function.__name__ not in replaced:
            copy = FunctionType(function.__code__, {**function.__globals__, **namespace}, function.__name__)
            copy.__module__, copy.__annotations__ = function.__module__, function.__annotations__
            namespace[function.__name__] = jit(copy)
    weights = {name: namespace[f"{name}_weight"] for name in ("constant", "uniform", "normal")}
    return SimpleNamespace(
        **namespace, weights=weights, numbers={name: namespace[name] for name in noise.DOMAINS}
    )
