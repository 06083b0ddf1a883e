import numpy as np

from event_ops.poisson import poisson_counts
from oracles.generated import philox
from oracles.widen import wide


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


def poisson_input(weight, seed, step, *, mean, initial=0):
    y, seed, step = np.zeros(len(mean)), int(seed), int(step) % 2**32
    weights = np.broadcast_to(wide(weight), y.shape)
    means = np.asarray(mean).tolist()
    tables = {value: filled(poisson_counts(value)) for value in set(means)}
    for i, value in enumerate(means):
        slot, rest = divmod(philox(i // 64 * 32 + i % 32, step, seed)[i // 32 % 2], 1 << 24)
        cut, alias = tables[value][slot]
        y[i] = weights[i] * (slot if rest < cut else alias)
    return y + wide(initial)
