from fractions import Fraction

import jax
import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.oracle.generated import philox
from event_ops.kernels.reference.poisson import poisson_counts


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


def bits(i, stream, step, seed):
    """16 of the 64 bits that four neurons share."""
    first, second = philox(stream * 2**29 + i // 4, step, seed)
    return (second * 2**32 + first) // 2 ** (16 * (i % 4)) % 2**16


def word(i, part, step, seed):
    return bits(i, 2 * part, step, seed) * 2**16 + bits(i, 2 * part + 1, step, seed)


def table_numbers(means, step, seed, first, part=0):
    """The number of each mean's alias table."""
    tables = {value: filled(poisson_counts(value)) for value in set(means)}
    numbers = np.zeros(len(means))
    for i, value in enumerate(means):
        slot, rest = divmod(word(first + i, part, step, seed), 1 << 24)
        cut, alias = tables[value][slot]
        numbers[i] = slot if rest < cut else alias
    return numbers


def digit_numbers(means, step, seed, first):
    """Sums of the numbers of the whole part, of two digits to the base 64, and of the rest in 2**-32."""
    means, numbers = [Fraction(mean) for mean in means], np.zeros(len(means))
    for part in range(3):
        digits = [mean * 64**part // 1 / Fraction(64**part) for mean in means]
        numbers += table_numbers(list(map(float, digits)), step, seed, first, part)
        means = [mean - digit for mean, digit in zip(means, digits, strict=True)]
    for i, mean in enumerate(means):
        drawn, rest = word(first + i, 3, step, seed), int(mean * 2**32 + Fraction(1, 2))
        twice = (rest // 32) ** 2 // 2**23
        numbers[i] += (drawn < rest - twice) + (drawn < twice)
    return numbers


def poisson_input(weight, seed, step, *, mean, initial=0, first=0):
    n = max(np.size(x) if np.ndim(x) else 0 for x in (mean, weight, initial))
    values = np.broadcast_to(np.asarray(mean), n).tolist()
    numbers = digit_numbers if isinstance(mean, jax.Array) else table_numbers
    drawn = numbers(values, int(step) % 2**32, int(seed), int(first))
    return wide(initial) + np.broadcast_to(wide(weight), n) * drawn
