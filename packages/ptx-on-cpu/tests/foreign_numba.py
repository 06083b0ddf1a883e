"""Cases of numba-cuda: memory, control, waiting, printing."""

import numpy as np
from foreign_kernels import Case, integers, normal, zeros
from numba import cuda, float64, int32
from numba.cuda.random import xoroshiro128p_dtype, xoroshiro128p_uniform_float64

PAIR = np.dtype([("key", "i4"), ("value", "f8")], align=True)
TABLE = np.array([2, 3, 5, 7, 11, 13, 17, 19], np.int32)


def dynamic_shared() -> Case:
    """Return a reversal by dynamic shared memory, beside static memory."""

    def kernel(x, y):
        dynamic, static = cuda.shared.array(0, float64), cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        dynamic[t], static[t] = x[cuda.grid(1)], t
        cuda.syncthreads()
        y[cuda.grid(1)] = dynamic[63 - t] + static[63 - t]

    x = normal(128, dtype="d")
    wanted = x.reshape(2, 64)[:, ::-1] + np.arange(64)[::-1]
    return Case(kernel, (2,), (64,), (x, np.zeros(128)), {1: wanted.ravel()}, shared=512)


def records() -> Case:
    """Return records in global memory and fields that change places."""

    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i].key = x[x.size - 1 - i].key + 1
            y[i].value = x[i].value * x[i].key

    x, y = np.zeros(50, PAIR), np.zeros(50, PAIR)
    x["key"], x["value"] = integers(-9, 9, 50), normal(50, dtype="d")
    wanted = y.copy()
    wanted["key"], wanted["value"] = x["key"][::-1] + 1, x["value"] * x["key"]
    return Case(kernel, (2,), (32,), (x, y), {1: wanted})


def local_and_constant() -> Case:
    """Return an insertion sort in local memory, and a table of constants."""

    def kernel(x, y):
        mine, table = cuda.local.array(8, int32), cuda.const.array_like(TABLE)
        i = cuda.grid(1)
        for k in range(8):
            value, at = x[i, k], k
            while at > 0 and mine[at - 1] > value:
                mine[at] = mine[at - 1]
                at -= 1
            mine[at] = value
        for k in range(8):
            y[i, k] = mine[k] * table[(i + k) % 8]

    x = integers(-100, 100, 32, 8)
    turned = TABLE[(np.arange(32)[:, None] + np.arange(8)) % 8]
    return Case(kernel, (1,), (32,), (x, zeros(32, 8)), {1: np.sort(x, 1) * turned})


def grid_of_three_axes() -> Case:
    """Return threads of three axes, with strides of the grid."""

    def kernel(y):
        x0, y0, z0 = cuda.grid(3)
        sx, sy, sz = cuda.gridsize(3)
        for i in range(x0, y.shape[0], sx):
            for j in range(y0, y.shape[1], sy):
                for k in range(z0, y.shape[2], sz):
                    y[i, j, k] += 100 * i + 10 * j + k

    i, j, k = np.indices((9, 7, 5))
    return Case(kernel, (2, 2, 1), (2, 3, 2), (zeros(9, 7, 5),), {0: 100 * i + 10 * j + k})


def heat() -> Case:
    """Return the heat equation, with a synchronisation of the grid between steps."""

    def kernel(a, b, steps):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        for step in range(steps):
            one, two = (a, b) if step % 2 == 0 else (b, a)
            left = one[i - 1] if i > 0 else 0.0
            right = one[i + 1] if i < a.size - 1 else 0.0
            two[i] = one[i] + 0.25 * (left - 2 * one[i] + right)
            grid.sync()

    start = normal(96, dtype="d")
    wanted = start.copy()
    for _ in range(6):
        wanted = wanted + 0.25 * np.convolve(wanted, [1, -2, 1], "same")
    case = (start, np.zeros(96), np.int32(6))
    return Case(kernel, (3,), (32,), case, {0: wanted}, tolerance=1e-14)


def mutex() -> Case:
    """Return a lock that one thread of each block takes, around what is not atomic."""

    def kernel(lock, y):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            cuda.threadfence()
            y[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)

    return Case(kernel, (10,), (32,), (zeros(1), zeros(1)), {0: [0], 1: [10]})


@cuda.jit(device=True)
def _gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@cuda.jit(device=True)
def _sum_of_block(value, shared):
    t = cuda.threadIdx.x
    cuda.syncthreads()
    shared[t] = value
    cuda.syncthreads()
    total = 0
    for k in range(shared.size):
        total += shared[k]
    return total


def device_functions() -> Case:
    """Return device functions, with loops and with barriers."""

    def kernel(x, y):
        shared = cuda.shared.array(32, int32)
        i = cuda.grid(1)
        y[i] = _gcd(x[i], 360) + _sum_of_block(_sum_of_block(x[i], shared) % 7, shared)

    x = integers(1, 1000, 64)
    sums = np.repeat(32 * (x.reshape(2, 32).sum(1) % 7), 32)
    return Case(kernel, (2,), (32,), (x, zeros(64)), {1: np.gcd(x, 360) + sums})


def loops() -> Case:
    """Return loops within loops that are left early, and threads that end early."""

    def kernel(x, y):
        i = cuda.grid(1)
        if i >= x.size:
            return
        total = 0
        for a in range(x[i]):
            if a % 3 == 1:
                continue
            for b in range(a, 100):
                if a * b > 50:
                    break
                total += b
            else:
                total += 1000
            if total > 5000:
                y[i] = -total
                return
        n = x[i] + 1
        while n != 1:  # Collatz
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            total += 1
        y[i] = total

    def of_one(count: int) -> int:
        y, x = np.zeros(1, int), np.array([count])
        total = 0
        for a in range(count):
            if a % 3 == 1:
                continue
            total += sum(b for b in range(a, 100) if a * b <= 50) + (1000 if a * 99 <= 50 else 0)
            if total > 5000:
                return -total
        n = int(x[0]) + 1 + int(y[0])
        while n != 1:
            n, total = (n // 2 if n % 2 == 0 else 3 * n + 1), total + 1
        return total

    x = integers(0, 12, 50)
    return Case(kernel, (2,), (32,), (x, zeros(50)), {1: [of_one(int(n)) for n in x]})


def random_numbers() -> Case:
    """Return the numbers of xoroshiro128+ of many states."""

    def kernel(states, y):
        i = cuda.grid(1)
        for k in range(y.shape[1]):
            y[i, k] = xoroshiro128p_uniform_float64(states, i)

    states = np.zeros(32, xoroshiro128p_dtype)
    states["s0"], states["s1"] = integers(1, 2**62, 2, 32, dtype=np.uint64)
    wanted, full = np.zeros((32, 4)), 2**64 - 1
    for i, (a, b) in enumerate(zip(states["s0"].tolist(), states["s1"].tolist(), strict=True)):
        for k in range(4):
            wanted[i, k] = ((a + b & full) >> 11) * 2.0**-53
            b ^= a
            a = ((a << 55 | a >> 9) & full) ^ b ^ (b << 14 & full)
            b = (b << 36 | b >> 28) & full
    return Case(kernel, (1,), (32,), (states, np.zeros((32, 4))), {1: wanted})


def sessions() -> Case:
    """Return the number of each event's session, found by looking back."""

    def kernel(users, times, y):
        i = cuda.grid(1)
        if i >= users.size:
            return
        first = i == 0 or users[i] != users[i - 1] or times[i] - times[i - 1] > 30
        y[i] = i if first else -1
        cuda.cg.this_grid().sync()
        if first:
            at = i + 1
            while at < users.size and y[at] == -1:
                y[at] = i
                at += 1

    users, times = np.sort(integers(0, 6, 64)), np.sort(integers(0, 600, 64))
    first = np.r_[True, (np.diff(users) != 0) | (np.diff(times) > 30)]
    return Case(
        kernel, (2,), (32,), (users, times, zeros(64)), {2: np.maximum.accumulate(np.arange(64) * first)}
    )


def printing() -> Case:
    """Print from two of four threads."""

    def kernel(x):
        i = cuda.grid(1)
        if i % 2 == 0:
            print("thread", i, x[i])

    return Case(kernel, (1,), (4,), (np.array([1.5, 2.5, -3.25, 0]),), {})


def mandelbrot() -> Case:
    """Return how many steps a point stays."""

    def kernel(y):
        i, j = cuda.grid(2)
        c, z = complex(i / 8 - 2, j / 8 - 1), 0j
        count = 0
        while count < 50 and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            count += 1
        y[i, j] = count

    wanted = np.zeros((24, 16), np.int32)
    for i, j in np.ndindex(24, 16):
        z = 0j
        while wanted[i, j] < 50 and abs(z) < 2:
            z = z * z + complex(i / 8 - 2, j / 8 - 1)
            wanted[i, j] += 1
    return Case(kernel, (3, 2), (8, 8), (zeros(24, 16),), {0: wanted})


def binary_search() -> Case:
    """Return where values belong."""

    def kernel(x, values, y):
        i = cuda.grid(1)
        low, high = 0, x.size
        while low < high:
            middle = (low + high) >> 1
            if x[middle] < values[i]:
                low = middle + 1
            else:
                high = middle
        y[i] = low

    x, values = np.sort(normal(77)), normal(64)
    return Case(kernel, (2,), (32,), (x, values, zeros(64)), {2: np.searchsorted(x, values)})


CASES = {
    make.__name__: make
    for make in (
        *(dynamic_shared, records, local_and_constant, grid_of_three_axes, heat, mutex, device_functions),
        *(loops, random_numbers, sessions, mandelbrot, binary_search),
    )
}
