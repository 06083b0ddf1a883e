"""Universal functions of the kinds that Numba's documentation shows and sgkit has, in our words.

Source: https://numba.readthedocs.io; `count_alleles`: sgkit-dev/sgkit#1266.
"""

import numba
import numpy as np
from foreign import Foreign

RNG = np.random.default_rng(2)
X, Y = RNG.uniform(0.5, 2, 40), RNG.uniform(0.5, 2, 40)
M = RNG.normal(size=(6, 8))
GENOTYPES = RNG.integers(-1, 3, (10, 2)).astype("int8")


@numba.guvectorize(["void(float64[:], int64[:], float64[:])"], "(n),()->(n)")
def moving_mean(a, window, out):
    width, total, count = window[0], 0.0, 0
    for i in range(a.size):
        total += a[i]
        count += 1
        if count > width:
            total -= a[i - width]
            count = width
        out[i] = total / count


@numba.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
def add_number(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y


@numba.guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)")
def multiply_matrices(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = 0
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]


@numba.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def relative_difference(x, y):
    return 2 * (x - y) / (x + y)


@numba.guvectorize(["void(int8[:], uint8[:], uint8[:])"], "(k),(n)->(n)")
def count_alleles(genotype, _, out):
    out[:] = 0
    for allele in genotype:
        if allele >= 0:
            out[allele] += 1


def moving_mean_in_numpy(a, window):
    return np.array([a[max(i - window + 1, 0) : i + 1].mean() for i in range(a.size)])


KERNELS = [
    Foreign(moving_mean, (X, 3), None, moving_mean_in_numpy),
    Foreign(add_number, (X, 2.5), None, np.add),
    Foreign(multiply_matrices, (M, M.T), None, np.matmul),
    Foreign(relative_difference, (X, Y), None, lambda x, y: 2 * (x - y) / (x + y)),
    Foreign(
        count_alleles,
        (GENOTYPES, np.zeros(3, "uint8")),
        None,
        lambda g, _: (g[..., None] == np.arange(3)).sum(-2).astype("uint8"),
    ),
]
