"""Cases of numba-cuda: atomics, and lanes of a warp."""

from functools import partial

import numpy as np
from foreign_kernels import Case, integers, normal, zeros
from numba import cuda, float32, int32

ALL = 0xFFFFFFFF


def atomics(kind: str) -> Case:
    """Return sums and extremes of numbers of any kind."""

    def kernel(x, y):
        i = cuda.grid(1)
        cuda.atomic.add(y, 0, x[i])
        cuda.atomic.sub(y, 1, x[i])
        cuda.atomic.max(y, 2, x[i])
        cuda.atomic.min(y, 3, x[i])

    x, y = _numbers(kind), _numbers(kind)[:4]
    total = x.sum(dtype=kind, keepdims=True)
    wanted = np.concatenate([y[:1] + total, y[1:2] - total, [max(y[2], x.max()), min(y[3], x.min())]])
    return Case(kernel, (3,), (32,), (x, y), {1: wanted.astype(kind)})


def _numbers(kind: str) -> np.ndarray:
    return integers(0 if kind[0] == "u" else -50, 50, 96, dtype=np.int64).astype(kind)


def exchanges(kind: str) -> Case:
    """Return an exchange, a comparison that finds what it expects, and one that does not."""

    def kernel(x, y, old):
        i = cuda.grid(1)
        old[i, 0] = cuda.atomic.exch(y, i, x[i])
        old[i, 1] = cuda.atomic.cas(y, i, x[i], x[i] + x[i])
        old[i, 2] = cuda.atomic.cas(y, i, x[i] + x[i] + 1, x[i])

    x, y = _numbers(kind), _numbers(kind)
    return Case(
        kernel, (3,), (32,), (x, y, np.zeros((96, 3), kind)), {1: x + x, 2: np.stack([y, x, x + x], 1)}
    )


def bitwise_atomics(kind: str) -> Case:
    """Return atomic operations on bits, and counters that wrap."""

    def kernel(x, y):
        i = cuda.grid(1)
        cuda.atomic.and_(y, 0, x[i] | 6)
        cuda.atomic.or_(y, 1, x[i])
        cuda.atomic.xor(y, 2, x[i])
        cuda.atomic.inc(y, 3, 9)
        cuda.atomic.dec(y, 4, 6)

    x, y = integers(0, 1000, 64).astype(kind), np.array([1023, 1, 7, 3, 2], kind)
    inc, dec = 3, 2
    for _ in x:
        inc, dec = (0 if inc >= 9 else inc + 1), (6 if dec == 0 or dec > 6 else dec - 1)
    wanted = [np.bitwise_and.reduce(x | 6) & 1023, np.bitwise_or.reduce(x) | 1, np.bitwise_xor.reduce(x) ^ 7]
    return Case(kernel, (2,), (32,), (x, y), {1: [*wanted, inc, dec]})


def atomics_and_nan() -> Case:
    """Return atomics that pass over nan."""

    def kernel(x, y):
        i = cuda.grid(1)
        cuda.atomic.nanmax(y, 0, x[i])
        cuda.atomic.nanmin(y, 1, x[i])

    x = normal(64, dtype="d")
    x[::5] = np.nan
    return Case(kernel, (2,), (32,), (x, np.zeros(2)), {1: [max(0, np.nanmax(x)), min(0, np.nanmin(x))]})


def atomics_of_two_axes() -> Case:
    """Return atomics in shared and global memory of two axes."""

    def kernel(x, y):
        shared = cuda.shared.array((4, 8), float32)
        i, j = cuda.threadIdx.y, cuda.threadIdx.x
        shared[i, j] = 0
        cuda.syncthreads()
        cuda.atomic.add(shared, (i, x[cuda.blockIdx.x, j]), 1.5)
        cuda.syncthreads()
        cuda.atomic.add(y, (j, i), shared[i, j])

    x = integers(0, 8, 5, 8)
    wanted = np.repeat(1.5 * np.bincount(x.ravel(), minlength=8)[:, None], 4, 1)
    return Case(kernel, (5,), (8, 4), (x, zeros(8, 4, dtype="f")), {1: wanted})


def shuffles(kind: str) -> Case:
    """Return values of other lanes."""

    def kernel(x, y):
        t = cuda.threadIdx.x
        y[0, t] = cuda.shfl_sync(ALL, x[t], 5)
        y[1, t] = cuda.shfl_up_sync(ALL, x[t], 3)
        y[2, t] = cuda.shfl_down_sync(ALL, x[t], 7)
        y[3, t] = cuda.shfl_xor_sync(ALL, x[t], 9)
        if t < 10:
            y[4, t] = cuda.shfl_xor_sync(0x3FF, x[t], 1)

    x, t = (
        normal(32, dtype="d") if kind[0] == "f" else integers(-(2**31), 2**31, 32, dtype=np.int64),
        np.arange(32),
    )
    x = x.astype(kind)
    some = np.where(t < 10, x[t ^ 1], 0)
    wanted = [np.full(32, x[5]), x[np.where(t < 3, t, t - 3)], x[np.where(t > 24, t, t + 7)], x[t ^ 9], some]
    return Case(kernel, (1,), (32,), (x, np.zeros((5, 32), kind)), {1: wanted})


def votes() -> Case:
    """Return votes, matches, masks of lanes, and counts of a barrier."""

    def kernel(x, y):
        t = cuda.threadIdx.x
        y[0, t] = cuda.ballot_sync(ALL, x[t] > 0)
        y[1, t] = (
            cuda.all_sync(ALL, x[t] > -5) + 2 * cuda.any_sync(ALL, x[t] > 4) + 4 * cuda.eq_sync(ALL, x[t])
        )
        y[2, t] = cuda.match_any_sync(ALL, x[t])
        mask, same = cuda.match_all_sync(ALL, x[t] // 10)
        y[3, t] = mask if same else -1
        y[4, t] = cuda.lanemask_lt()
        y[5, t] = cuda.syncthreads_count(int32(x[t] > 0))
        y[6, t] = 10 * cuda.syncthreads_and(int32(x[t] > -6)) + cuda.syncthreads_or(int32(x[t] > 9))
        if x[t] > 0:
            y[7, t] = cuda.popc(cuda.activemask()) > 0
        cuda.syncwarp()
        y[8, t] = cuda.laneid

    x = integers(-5, 6, 64)
    x[:32] = abs(x[:32])
    lanes = 1 << np.arange(32, dtype=np.int64)
    warps = x.reshape(2, 32)
    ballots = np.repeat([(lanes * (w > 0)).sum() for w in warps], 32)
    answers = np.repeat(
        [(w > -5).all() + 2 * (w > 4).any() + 4 * ((w != 0).all() or (w == 0).all()) for w in warps], 32
    )
    matches = np.concatenate([((w[:, None] == w) * lanes).sum(1) for w in warps])
    tens = np.repeat([ALL if len(set(w // 10)) == 1 else -1 for w in warps], 32)
    below = np.tile(lanes - 1, 2)
    counts, both = np.full(64, (x > 0).sum()), np.full(64, 10 * (x > -6).all() + (x > 9).any())
    wanted = [ballots, answers, matches, tens, below, counts, both, x > 0, np.tile(np.arange(32), 2)]
    return Case(
        kernel, (1,), (64,), (x, zeros(9, 64, dtype=np.int64)), {1: np.array(wanted).astype(np.int32)}
    )


KINDS = ("int32", "uint32", "int64", "uint64", "float32", "float64")
CASES = {
    f"{make.__name__} of {kind}": partial(make, kind)
    for make, kinds in (
        (atomics, KINDS),
        (exchanges, KINDS[:4]),
        (bitwise_atomics, ("uint32", "uint64")),
        (shuffles, ("int32", "int64", "float32", "float64")),
    )
    for kind in kinds
} | {make.__name__: make for make in (atomics_and_nan, atomics_of_two_axes, votes)}
