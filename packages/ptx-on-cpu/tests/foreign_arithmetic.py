"""Cases of arithmetic of numba-cuda: half precision, complex numbers, integers and bits, narrow kinds."""

from functools import partial

import numpy as np
from foreign_kernels import Case, integers, normal, zeros
from numba import cuda, float32, int32, uint8


def half_precision() -> Case:
    """Return halves that become floats, and a product that becomes a half."""

    def kernel(x, y, z, w):
        i = cuda.grid(1)
        z[i] = float32(x[i]) * float32(y[i])
        w[i] = x[i]

    x, y = normal(2, 64, dtype=np.float16)
    outputs = zeros(64, dtype=np.float16), zeros(64, dtype=np.float32)
    return Case(kernel, (2,), (32,), (x, y, *outputs), {2: x * y, 3: x})


def half_sums() -> Case:
    """Return sums of halves: numba-cuda calls a function of C++ that it would link."""

    def kernel(x, y):
        y[0] = x[0] + x[1]

    return Case(kernel, (1,), (1,), (zeros(2, dtype=np.float16), zeros(1, dtype=np.float16)), {})


def complex_numbers(kind: str) -> Case:
    """Return arithmetic of complex numbers."""

    def kernel(x, y, z):
        i = cuda.grid(1)
        z[0, i], z[1, i], z[2, i], z[3, i] = x[i] * y[i], x[i] / y[i], x[i] - y[i], x[i].conjugate()
        z[4, i] = abs(x[i]) + 1j * (x[i] * x[i].conjugate()).imag

    x, y = (normal(2, 64, dtype="d") + 1j * normal(2, 64, dtype="d")).astype(kind)
    wanted = np.array([x * y, x / y, x - y, x.conj(), abs(x)])
    tolerance = 1e-6 if kind == "complex64" else 1e-14
    return Case(kernel, (2,), (32,), (x, y, np.zeros((5, 64), kind)), {2: wanted}, tolerance=tolerance)


def quotients(kind: str) -> Case:
    """Return quotients and remainders of all signs, as Python rounds them."""

    def kernel(x, y, z):
        i = cuda.grid(1)
        z[0, i], z[1, i], z[2, i] = x[i] // y[i], x[i] % y[i], x[i] >> (y[i] & 15)
        z[3, i] = x[i] * y[i] ^ ~x[i] | y[i] & 12

    low = 0 if kind[0] == "u" else -100
    x, y = integers(low, 100, 2, 64, dtype=np.int64).astype(kind)
    y[y == 0] = 7
    wanted = np.array([x // y, x % y, x >> (y & 15), x * y ^ ~x | y & 12])
    return Case(kernel, (2,), (32,), (x, y, np.zeros((4, 64), kind)), {2: wanted})


def bits(kind: str) -> Case:
    """Return counts of bits, of zeros in front, the lowest bit, and the bits turned around."""

    def kernel(x, y):
        i = cuda.grid(1)
        y[0, i], y[1, i], y[2, i] = cuda.popc(x[i]), cuda.clz(x[i]), cuda.ffs(x[i])
        y[3, i] = cuda.brev(x[i])

    width = 8 * np.dtype(kind).itemsize
    x = integers(0, 2**63, 64, dtype=np.uint64) >> integers(0, 64, 64, dtype=np.uint64)
    x = x.astype(kind)
    texts = [f"{int(n) % 2**width:0{width}b}" for n in x]
    rows = [[t.count("1") for t in texts], [len(t) - len(t.lstrip("0")) for t in texts]]
    rows += [[t[::-1].find("1") + 1 for t in texts], [int(t[::-1], 2) for t in texts]]
    wanted = np.array([[n % 2**width for n in row] for row in rows], np.uint64).astype(kind)
    return Case(kernel, (2,), (32,), (x, np.zeros((4, 64), kind)), {1: wanted})


def narrow_kinds() -> Case:
    """Return bytes that wrap, floats that become integers, and choices."""

    def kernel(x, y, z, w):
        i = cuda.grid(1)
        y[i] = uint8(x[i] * 77)
        z[i] = x[i] * 300
        w[0, i], w[1, i] = int32(x[i] / 7.0), cuda.selp(x[i] % 2 == 0, x[i], int32(-x[i]))

    x = integers(-100, 100, 64)
    y, z = (x * 77).astype(np.uint8), (x * 300).astype(np.int16)
    wanted = [np.trunc(x / 7.0), np.where(x % 2 == 0, x, -x)]
    outputs = zeros(64, dtype=np.uint8), zeros(64, dtype=np.int16), zeros(2, 64)
    return Case(kernel, (2,), (32,), (x, *outputs), {1: y, 2: z, 3: wanted})


CASES = {
    f"{make.__name__} of {kind}": partial(make, kind)
    for make, kinds in (
        (complex_numbers, ("complex64", "complex128")),
        (quotients, ("int32", "int64", "uint32")),
        (bits, ("uint32", "uint64", "int32")),
    )
    for kind in kinds
} | {make.__name__: make for make in (half_precision, narrow_kinds)}
