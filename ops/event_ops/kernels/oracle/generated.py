"""Entries of the matrices that are generated: in Python's integers, draw by draw."""

import math

import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.reference.bernoulli import CUT_BITS, GAP_BITS, NO_ENTRY, gap_table


def philox(x, y, key):
    for _ in range(10):
        product = x * 0xD256D193
        x, y = (product >> 32) ^ key ^ y, product & 0xFFFFFFFF
        key = key + 0x9E3779B9 & 0xFFFFFFFF
    return x, y


def gap(table, word):
    slot, rest = divmod(word, 1 << CUT_BITS)
    cut, alias = divmod(table[slot], 1 << GAP_BITS)
    return slot if rest < cut else alias


def columns(seed, row, prob, end):
    """Column and weight word of every entry of a row."""
    table, column, draw = gap_table(prob).tolist(), 0, 0
    while column < end:
        first, word = philox(draw, row, seed)
        jump = gap(table, first)
        column, draw = column + jump, draw + 1
        if jump != NO_ENTRY and column < end:
            yield column, word
            column += 1


def weight_of(weight, distribution, seed, row, column, word):
    if distribution == "constant":
        return float(weight)
    if distribution == "uniform":
        return weight[0] + (weight[1] - weight[0]) * ((word >> 8) / 2**24)
    u, angle = ((word >> 8) / 2**24 for word in philox(column | 2**31, row, seed))
    return weight[0] + weight[1] * math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * angle)


def entries(weight, seed, prob, shape, distribution):
    """(row, column, weight) of every entry."""
    weight, seed = wide(weight), int(seed)
    return [
        (i, j, weight_of(weight, distribution, seed, i, j, word))
        for i in range(shape[0])
        for j, word in columns(seed, i, prob, shape[1])
    ]


def product(entries, v, shape, transpose):
    y = np.zeros(shape[1] if transpose else shape[0])
    for i, j, weight in entries:
        target, source = (j, i) if transpose else (i, j)
        y[target] += weight * float(v[source])
    return y
