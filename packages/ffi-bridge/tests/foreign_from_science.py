"""Kernels of the kinds that libraries have: those of the issues that ask for Numba in JAX, and SciPy's.

Each in our words. `isotonic_decreasing`: google/jaxopt#369, Best and Chakravarti, Mathematical Programming 47
(1990) 425-439. `connected_states`: netket/netket#1747. `win_chances`: jax-ml/jax#817, M. Glickman, Applied
Statistics 48 (1999) 377-394. `log_mixture`: blackjax-devs/blackjax#345.
"""

import heapq

import numba
import numpy as np
from foreign import Foreign, returns, struct
from scipy import ndimage, optimize, signal

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=40), RNG.normal(size=40)
IMAGE = (RNG.uniform(size=(7, 9)) < 0.5).astype("int64")


@numba.njit
def isotonic_decreasing(y):
    """argmin of |v - y|^2 over v[0] >= v[1] >= ..., by pooling adjacent violators."""
    means, sizes, last = y.copy(), np.ones(y.size, np.int64), -1
    for value in y:
        last += 1
        means[last], sizes[last] = value, 1
        while last > 0 and means[last - 1] < means[last]:
            size = sizes[last - 1] + sizes[last]
            means[last - 1] = (means[last - 1] * sizes[last - 1] + means[last] * sizes[last]) / size
            sizes[last - 1] = size
            last -= 1
    out, place = np.empty_like(y), 0
    for k in range(last + 1):
        out[place : place + sizes[k]] = means[k]
        place += sizes[k]
    return out


@numba.njit
def connected_states(spins, edges, coupling, field):
    """The states that a transverse-field Ising Hamiltonian connects to one, and its matrix elements."""
    n = spins.size
    states, elements = np.empty((n + 1, n), spins.dtype), np.empty(n + 1)
    states[:] = spins
    elements[0] = 0.0
    for k in range(edges.shape[0]):
        elements[0] -= coupling * spins[edges[k, 0]] * spins[edges[k, 1]]
    for i in range(n):
        states[i + 1, i] *= -1
        elements[i + 1] = -field
    return states, elements


@numba.njit
def win_chances(ratings, deviations, first, second):
    chances = np.empty(first.size)
    for k in range(first.size):
        i, j = first[k], second[k]
        variance = deviations[i] ** 2 + deviations[j] ** 2
        scale = 1.0 / np.sqrt(1.0 + 3.0 * (np.log(10.0) / 400.0) ** 2 * variance / np.pi**2)
        chances[k] = 1.0 / (1.0 + 10.0 ** (-scale * (ratings[i] - ratings[j]) / 400.0))
    return chances


@numba.njit
def log_mixture(x, means, log_widths, logits):
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    total = 0.0
    for value in x:
        density = 0.0
        for k in range(means.size):
            z = (value - means[k]) / np.exp(log_widths[k])
            density += weights[k] * np.exp(-0.5 * z * z - log_widths[k]) / np.sqrt(2 * np.pi)
        total += np.log(density)
    return total


@numba.njit
def filtered(b, a, x):
    """A linear filter of the form of `scipy.signal.lfilter`, transposed direct form II."""
    state, y = np.zeros(a.size), np.empty_like(x)
    for t in range(x.size):
        y[t] = (b[0] * x[t] + state[0]) / a[0]
        for k in range(a.size - 1):
            state[k] = state[k + 1] + b[k + 1] * x[t] - a[k + 1] * y[t]
    return y


@numba.njit
def solve_tridiagonal(lower, diagonal, upper, rhs):
    n = diagonal.size
    c, x = np.empty(n), np.empty(n)
    c[0], x[0] = upper[0] / diagonal[0], rhs[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        x[i] = (rhs[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


@numba.njit
def warping_distance(x, y):
    cost = np.full((x.size + 1, y.size + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(x.size):
        for j in range(y.size):
            step = min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
            cost[i + 1, j + 1] = abs(x[i] - y[j]) + step
    return cost[-1, -1]


@numba.njit
def edits(a, b):
    before = np.arange(b.size + 1)
    for i in range(a.size):
        now = np.empty_like(before)
        now[0] = i + 1
        for j in range(b.size):
            now[j + 1] = min(before[j] + (a[i] != b[j]), before[j + 1] + 1, now[j] + 1)
        before = now
    return before[-1]


@numba.njit
def root_of(parents, i):
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@numba.njit
def components(image):
    """Label what hangs together, as `scipy.ndimage.label` does, by union and find."""
    rows, columns = image.shape
    parents = np.arange(rows * columns)
    for i in range(rows):
        for j in range(columns):
            if image[i, j]:
                if i and image[i - 1, j]:
                    parents[root_of(parents, i * columns + j)] = root_of(parents, (i - 1) * columns + j)
                if j and image[i, j - 1]:
                    parents[root_of(parents, i * columns + j)] = root_of(parents, i * columns + j - 1)
    labels, numbers, count = np.zeros_like(image), {-1: 0}, 0
    for i in range(rows):
        for j in range(columns):
            if image[i, j]:
                root = root_of(parents, i * columns + j)
                if root not in numbers:
                    count += 1
                    numbers[root] = count
                labels[i, j] = numbers[root]
    return labels, count


@numba.njit(parallel=True)
def pairwise_distances(x):
    distances = np.empty((x.shape[0], x.shape[0]))
    for i in numba.prange(x.shape[0]):
        for j in range(x.shape[0]):
            distances[i, j] = np.sqrt(((x[i] - x[j]) ** 2).sum())
    return distances


@numba.njit
def kepler(anomaly, eccentricity):
    """The root E of E - e * sin(E) = M, by Newton's method."""
    e = anomaly
    for _ in range(50):
        step = (e - eccentricity * np.sin(e) - anomaly) / (1 - eccentricity * np.cos(e))
        e -= step
        if abs(step) < 1e-14:
            return e
    raise RuntimeError("no convergence")


@numba.njit
def smallest(x, k):
    heap = [-x[i] for i in range(k)]
    heapq.heapify(heap)
    for i in range(k, x.size):
        heapq.heappushpop(heap, -x[i])
    return np.sort(-np.array(heap))


@numba.njit
def ridge(features, y, strength):
    gram = features.T @ features + strength * np.eye(features.shape[1])
    return np.linalg.solve(gram, features.T @ y)


@numba.njit
def lorenz(state, dt, steps):
    def slope(s):
        return np.array([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    path = np.empty((steps + 1, 3))
    path[0] = state
    for t in range(steps):
        s = path[t]
        k1 = slope(s)
        k2 = slope(s + 0.5 * dt * k1)
        k3 = slope(s + 0.5 * dt * k2)
        k4 = slope(s + dt * k3)
        path[t + 1] = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return path


@numba.njit
def is_inside(points, polygon):
    inside = np.zeros(points.shape[0], np.bool_)
    for p in range(points.shape[0]):
        x, y = points[p]
        j = polygon.shape[0] - 1
        for i in range(polygon.shape[0]):
            (xi, yi), (xj, yj) = polygon[i], polygon[j]
            if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
                inside[p] = not inside[p]
            j = i
    return inside


TRIANGLE = np.array([[-1.0, -1.0], [1.5, -0.5], [0.0, 1.5]])
KERNELS = [
    Foreign(isotonic_decreasing, (X,), lambda y: y, lambda y: optimize.isotonic_regression(-y).x * -1),
    returns(
        connected_states,
        np.sign(X[:6]),
        np.array([[0, 1], [2, 3], [4, 5]]),
        1.5,
        0.7,
        outs=lambda s, *_: (struct((s.shape[0] + 1, s.shape[0])), struct(s.shape[0] + 1)),
    ),
    returns(
        win_chances,
        1500 + 200 * X,
        50 + abs(Y),
        np.arange(5),
        np.arange(5, 10),
        outs=lambda r, d, first, second: struct(first.shape),
    ),
    returns(log_mixture, X, X[:3], Y[:3], Y[3:6], outs=struct(())),
    Foreign(
        filtered, (np.array([1.0, 0.5, 0.2]), np.array([2.0, 0.1, 0.3]), X), lambda b, a, x: x, signal.lfilter
    ),
    returns(solve_tridiagonal, X * 0.1, 2 + Y**2, Y * 0.1, X, outs=lambda *ins: ins[-1]),
    returns(warping_distance, X[:9], Y[:12], outs=struct(())),
    returns(edits, IMAGE[0], IMAGE[1], outs=struct((), "int64")),
    Foreign(components, (IMAGE,), lambda x: (x, struct((), "int64")), ndimage.label),
    returns(pairwise_distances, X.reshape(10, 4), outs=lambda x: struct((x.shape[0], x.shape[0]))),
    returns(kepler, 1.2, 0.4, outs=struct(())),
    Foreign(smallest, (X,), lambda x, k: struct(k), lambda x: np.sort(x)[:5], {"k": 5}),
    returns(ridge, X.reshape(10, 4), Y[:10], 0.1, outs=lambda x, *_: struct(x.shape[1])),
    returns(
        lorenz,
        np.array([1.0, 1.0, 20.0]),
        outs=lambda s, steps, dt: struct((steps + 1, 3)),
        dt=0.01,
        steps=20,
    ),
    returns(is_inside, X.reshape(20, 2), TRIANGLE, outs=lambda p, _: struct(p.shape[:1], "bool")),
]
