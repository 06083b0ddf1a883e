"""Kernels of the kinds that Numba's documentation and its examples show, in our words.

Source: https://numba.readthedocs.io and https://github.com/numba/numba-examples for what each does.
"""

import math

import numba
import numpy as np
from foreign import Foreign, returns, struct
from numba.experimental import jitclass
from numba.typed import Dict, List

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.5, 2, 40), RNG.uniform(0.5, 2, 40)
M = RNG.normal(size=(6, 8))


@numba.njit
def steps_to_escape(real, imaginary, limit):
    c = complex(real, imaginary)
    z = 0.0j
    for i in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return limit


@numba.njit
def draw_mandelbrot(left, right, bottom, top, image, iters):
    height, width = image.shape
    for i in range(height):
        for j in range(width):
            real = left + j * (right - left) / width
            image[i, j] = steps_to_escape(real, bottom + i * (top - bottom) / height, iters)


@numba.njit
def sum_2d(a):
    total = 0.0
    rows, columns = a.shape
    for i in range(rows):
        for j in range(columns):
            total += a[i, j]
    return total


@numba.njit
def estimate_pi(samples):
    np.random.seed(3)
    inside = 0
    for _ in range(samples):
        if np.random.random() ** 2 + np.random.random() ** 2 < 1:
            inside += 1
    return 4.0 * inside / samples


@numba.njit(parallel=True)
def fit_logistic(labels, features, w, iterations):
    for _ in range(iterations):
        w = w - np.dot((1.0 / (1.0 + np.exp(-labels * np.dot(features, w))) - 1.0) * labels, features)
    return w


@numba.njit
def k_means(points, centers, rounds):
    centers, nearest = centers.copy(), np.zeros(points.shape[0], np.int64)
    for _ in range(rounds):
        for i in range(points.shape[0]):
            least = np.inf
            for k in range(centers.shape[0]):
                distance = np.sum((points[i] - centers[k]) ** 2)
                if distance < least:
                    least, nearest[i] = distance, k
        for k in range(centers.shape[0]):
            of_k = nearest == k
            if of_k.sum() > 0:
                for d in range(points.shape[1]):
                    centers[k, d] = points[:, d][of_k].mean()
    return centers, nearest


@numba.njit
def normal_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


@numba.njit
def price_options(spot, strike, years, rate, volatility):
    call, put = np.empty_like(spot), np.empty_like(spot)
    for i in range(spot.size):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility**2) * years[i]) / spread
        present = strike[i] * math.exp(-rate * years[i])
        call[i] = spot[i] * normal_cdf(d1) - present * normal_cdf(d1 - spread)
        put[i] = call[i] - spot[i] + present
    return call, put


@numba.njit(parallel=True, fastmath=True)
def kernel_density(data, width):
    total = 0.0
    for i in numba.prange(data.size):
        exponents = -((data[i] - data) ** 2) / (2 * width**2)
        least = exponents.max()
        total += least + np.log(np.exp(exponents - least).sum()) - math.log(width * data.size)
    return total


@numba.stencil
def mean_of_neighbours(a):
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


@numba.njit
def relax(a, sweeps):
    for _ in range(sweeps):
        a = mean_of_neighbours(a)
    return a


@jitclass([("total", numba.float64), ("count", numba.int64)])
class Mean:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total += value
        self.count += 1

    @property
    def value(self):
        return self.total / self.count


@numba.njit
def mean_by_class(x):
    mean = Mean()
    for value in x:
        mean.add(value)
    return mean.value


@numba.njit
def most_frequent(labels):
    counts = Dict.empty(numba.int64, numba.int64)
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    best = labels[0]
    for label, count in counts.items():
        if count > counts[best]:
            best = label
    return best, counts[best]


@numba.njit
def records(x):
    found = List()
    highest = -np.inf
    for i in range(x.size):
        if x[i] > highest:
            highest = x[i]
            found.append(i)
    padded = np.full(x.size, -1)
    for k, i in enumerate(found):
        padded[k] = i
    return padded


@numba.njit
def life(cells, generations):
    rows, columns = cells.shape
    for _ in range(generations):
        following = np.zeros_like(cells)
        for i in range(rows):
            for j in range(columns):
                alive = -cells[i, j]
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        alive += cells[(i + di) % rows, (j + dj) % columns]
                following[i, j] = alive == 3 or (cells[i, j] and alive == 2)
        cells = following
    return cells


@numba.njit
def pairs_of(n):
    for i in range(n):
        for j in range(i):
            yield i, j


@numba.njit
def energy(positions, masses):
    total = 0.0
    for i, j in pairs_of(masses.size):
        total -= masses[i] * masses[j] / np.sqrt(((positions[i] - positions[j]) ** 2).sum())
    return total


@numba.njit
def square(x):
    return x * x


@numba.njit
def trapezoids(function, a, b, n):
    h = (b - a) / n
    total = 0.5 * (function(a) + function(b))
    for i in range(1, n):
        total += function(a + i * h)
    return h * total


@numba.njit
def integral_of_square(a, b):
    return trapezoids(square, a, b, 50)


@numba.njit
def partition(x, low, high):
    pivot, place = x[high], low
    for i in range(low, high):
        if x[i] <= pivot:
            x[i], x[place] = x[place], x[i]
            place += 1
    x[place], x[high] = x[high], x[place]
    return place


@numba.njit
def quicksort(x, low, high):
    if low < high:
        middle = partition(x, low, high)
        quicksort(x, low, middle - 1)
        quicksort(x, middle + 1, high)


@numba.njit
def quicksorted(x):
    y = x.copy()
    quicksort(y, 0, y.size - 1)
    return y


def mandelbrot_in_python(*corners):
    image = np.zeros((5, 7), np.uint8)
    draw_mandelbrot.py_func(*corners, image, 20)
    return image


def relaxed(a):
    for _ in range(2):
        inner = 0.25 * (a[1:-1, 2:] + a[2:, 1:-1] + a[1:-1, :-2] + a[:-2, 1:-1])
        a = np.pad(inner, 1)
    return a


KERNELS = [
    Foreign(
        draw_mandelbrot,
        (-2.0, 1.0, -1.0, 1.0),
        struct((5, 7), "uint8"),
        mandelbrot_in_python,
        {"iters": 20},
        writes=True,
        options={"scalar_argnames": ("left", "right", "bottom", "top")},
    ),
    returns(sum_2d, M, outs=struct(())),
    returns(estimate_pi, outs=struct(()), samples=500),
    returns(fit_logistic, np.sign(M[:, 0]), M, np.zeros(8), outs=lambda y, x, w, iterations: w, iterations=5),
    returns(
        k_means,
        RNG.normal(size=(30, 2)),
        RNG.normal(size=(3, 2)),
        outs=lambda x, c, rounds: (c, struct(x.shape[0], "int64")),
        rounds=4,
    ),
    returns(price_options, X, Y, X + Y, 0.02, 0.3, outs=lambda x, *_: (x, x)),
    returns(kernel_density, X, outs=struct(()), width=0.2),
    Foreign(relax, (M,), lambda a, sweeps: a, relaxed, {"sweeps": 2}),
    Foreign(mean_by_class, (X,), struct(()), np.mean),
    Foreign(
        most_frequent,
        (np.array([3, 1, 1, 7, 3, 1]),),
        (struct((), "int64"), struct((), "int64")),
        lambda x: (np.bincount(x).argmax(), np.bincount(x).max()),
    ),
    returns(records, X, outs=lambda x: struct(x.shape, "int64")),
    returns(life, (M > 0).astype("int64"), outs=lambda cells, generations: cells, generations=3),
    returns(energy, M[:, :3], X[:6], outs=struct(())),
    returns(integral_of_square, 0.0, 2.0, outs=struct(())),
    returns(quicksorted, X, outs=lambda x: x),
]
