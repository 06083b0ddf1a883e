from fractions import Fraction

import jax
import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.oracle.generated import philox
from event_ops.kernels.reference.poisson import probabilities, word_counts


def filled(counts):
    """(cut, alias) of every slot of an alias table."""
    full, left, slots = 1 << 24, list(counts), [(0, k) for k in range(256)]
    short = [k for k, count in enumerate(left) if count < full]
    rich = [k for k, count in enumerate(left) if count >= full]
    while short:
        slot, donor = short.pop(), rich[-1]
        slots[slot] = left[slot], donor
        left[donor] -= full - left[slot]
        if left[donor] < full:
            short.append(rich.pop())
    return slots


def chosen(slots, word):
    """The number that a word chooses."""
    slot, rest = divmod(word, 1 << 24)
    cut, alias = slots[slot]
    return slot if rest < cut else alias


def bits(i, width, stream, step, seed):
    """The bits of neuron i among the 64 of a counter."""
    share = 64 // width
    first, second = philox(stream * 2**30 + i // share, step, seed)
    return (second * 2**32 + first) // 2 ** (width * (i % share)) % 2**width


def of_bytes(mean):
    """The number that each byte chooses, and slots for bytes that choose none."""
    expected = [256 * p for p in probabilities(mean)]
    whole = [min(int(x), 255) for x in expected]
    numbers = [k for k, times in enumerate(whole) for _ in range(times)]
    return numbers, filled(word_counts([x - y for x, y in zip(expected, whole, strict=True)]))


def table_numbers(means, step, seed, first):
    """The number of each byte, or of a word."""
    tables = {value: of_bytes(value) for value in set(means)}
    drawn = np.zeros(len(means))
    for i, value in enumerate(means):
        (numbers, slots), byte = tables[value], bits(first + i, 8, 0, step, seed)
        is_open = byte >= len(numbers)
        drawn[i] = chosen(slots, bits(first + i, 32, 1, step, seed)) if is_open else numbers[byte]
    return drawn


def digit_numbers(means, step, seed, first):
    """Sums of the numbers of the whole part, of two digits to the base 64, and of the rest in 2**-32."""
    means, numbers = [Fraction(mean) for mean in means], np.zeros(len(means))
    for part in range(3):
        digits = [mean * 64**part // 1 / Fraction(64**part) for mean in means]
        tables = {digit: filled(word_counts(probabilities(float(digit)))) for digit in set(digits)}
        for i, digit in enumerate(digits):
            numbers[i] += chosen(tables[digit], bits(first + i, 32, part, step, seed))
        means = [mean - digit for mean, digit in zip(means, digits, strict=True)]
    for i, mean in enumerate(means):
        word, rest = bits(first + i, 32, 3, step, seed), int(mean * 2**32 + Fraction(1, 2))
        twice = (rest // 32) ** 2 // 2**23
        numbers[i] += (word < rest - twice) + (word < twice)
    return numbers


def poisson_input(weight, seed, step, *, mean, initial=0, first=0):
    n = max(np.size(x) if np.ndim(x) else 0 for x in (mean, weight, initial))
    values = np.broadcast_to(np.asarray(mean), n).tolist()
    numbers = digit_numbers if isinstance(mean, jax.Array) else table_numbers
    drawn = numbers(values, int(step) % 2**32, int(seed), int(first))
    return wide(initial) + np.broadcast_to(wide(weight), n) * drawn
