"""CSR and event products, scatter and neurons on the GPU, beside cuSPARSE, CUB (both by CuPy) and XLA.

Shares are of the bandwidth of a device copy measured in the same run.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse

import event_ops
from event_ops_harness.gpu.rivals import event_rival, measured
from event_ops_harness.gpu.timing import copy_bandwidth, us_per_call

SHAPES = ((1000, 2000, 100), (100_000, 100_000, 100), (1_000_000, 1_000_000, 10), (20_000, 200_000, 1000))
ACTIVE = (0.001, 0.01, 0.1)
CALLS = 20


def matrix(rows: int, columns: int, degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices and indptr of a matrix with `degree` entries in every row."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, columns, (rows, degree), np.int32), axis=1).ravel()
    return (
        rng.standard_normal(indices.size, np.float32),
        indices,
        np.arange(0, indices.size + 1, degree, dtype=np.int32),
    )


def queued(work: Callable[[], Any]) -> float:
    """Time one of several queued calls, in microseconds: the device's time, not the wait for a result."""

    def several() -> Any:
        return [work() for _ in range(CALLS)]

    return us_per_call(several) / CALLS


def cupy() -> Any:
    """Return CuPy, or None where it is not installed."""
    try:
        importlib.import_module("cupyx.scipy.sparse")
        return importlib.import_module("cupy")
    except ImportError:
        return None


def cupy_us(xp: Any, work: Callable[[], Any]) -> float:
    """Time as `queued` does, for CuPy."""

    def several() -> None:
        for _ in range(CALLS):
            work()
        xp.cuda.Device().synchronize()

    return us_per_call(lambda: several() or jnp.zeros(())) / CALLS


def products(bandwidth: float) -> dict[str, Any]:
    """Time both products of every shape; the first also as a share of the copy's bandwidth."""
    found: dict[str, Any] = {}
    xp = cupy()
    for rows, columns, degree in SHAPES:
        parts = matrix(rows, columns, degree)
        data, indices, indptr = map(jnp.asarray, parts)
        v, B = jnp.ones(columns, jnp.float32), jnp.ones((columns, 32), jnp.float32)
        shape = (rows, columns)
        name = f"{rows}x{columns}-{degree}"
        multiply = jax.jit(lambda v: event_ops.csr_matvec(data, indices, indptr, v, shape=shape))  # noqa: B023
        multiply_all = jax.jit(lambda B: event_ops.csr_matmat(data, indices, indptr, B, shape=shape))  # noqa: B023
        ours = queued(lambda: multiply(v))  # noqa: B023
        moved = 8 * indices.size + 4 * (rows + 1) + 4 * (rows + columns)
        found |= {
            f"csr_matvec {name}, us": ours,
            f"csr_matvec {name}, share": moved / (ours * 1e-6) / bandwidth,
            f"csr_matmat {name} n=32, us": queued(lambda: multiply_all(B)),  # noqa: B023
        }
        bcsr = sparse.BCSR((data, indices, indptr), shape=shape)
        reference = jax.jit(lambda v: bcsr @ v)  # noqa: B023
        found[f"csr_matvec {name}, JAX BCSR us"] = queued(lambda: reference(v))  # noqa: B023
        if xp is not None:
            module = importlib.import_module("cupyx.scipy.sparse")
            A = module.csr_matrix(tuple(map(xp.asarray, parts)), shape=shape)
            w, W = xp.ones(columns, xp.float32), xp.ones((columns, 32), xp.float32)
            found[f"csr_matvec {name}, cuSPARSE us"] = cupy_us(xp, lambda: A @ w)  # noqa: B023
            found[f"csr_matmat {name} n=32, cuSPARSE us"] = cupy_us(xp, lambda: A @ W)  # noqa: B023
        np.testing.assert_allclose(multiply(v), _row_sums(parts), rtol=1e-3, atol=1e-3)
    return found


def _row_sums(parts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    return np.add.reduceat(parts[0], parts[2][:-1])


def events() -> dict[str, Any]:
    """Time the event product of 100,000 neurons beside cuSPARSE's full product."""
    n, degree = 100_000, 100
    parts = matrix(n, n, degree)
    data, indices, indptr = map(jnp.asarray, parts)
    product = partial(event_ops.csr_event_matvec, data, indices, indptr, shape=(n, n), transpose=True)
    ours, ordered = jax.jit(product), jax.jit(partial(product, deterministic=True))
    rival = cache(partial(event_rival, parts, n))  # within `measured`: if it cannot be made, its rows say why
    rng = np.random.default_rng(1)
    found: dict[str, Any] = {}
    for rate in ACTIVE:
        spikes = jnp.asarray(rng.random(n) < rate)
        row = f"csr_event_matvec at {rate:.1%}"
        found[f"{row}, us"] = queued(lambda: ours(spikes))  # noqa: B023
        found[f"{row}, deterministic us"] = queued(lambda: ordered(spikes))  # noqa: B023
        found |= measured(f"{row}, BrainEvent us", lambda: queued(partial(rival(), spikes)))  # noqa: B023
    if (xp := cupy()) is not None:
        module = importlib.import_module("cupyx.scipy.sparse")
        AT = module.csr_matrix(tuple(map(xp.asarray, parts)), shape=(n, n)).T.tocsr()
        w = xp.ones(n, xp.float32)
        found["full product, cuSPARSE us"] = cupy_us(xp, lambda: AT @ w)
    return found


def scatter() -> dict[str, Any]:
    """Time 10 M updates of 1 M elements."""
    rng = np.random.default_rng(2)
    places = jnp.asarray(rng.integers(0, 1_000_000, 10_000_000, np.int32))
    target, updates = jnp.zeros(1_000_000, jnp.float32), jnp.ones(10_000_000, jnp.float32)
    ours = jax.jit(lambda t, u: event_ops.scatter_add(t, places, u))
    xla = jax.jit(lambda t, u: t.at[places].add(u))
    found = {
        "scatter_add 10M into 1M, us": queued(lambda: ours(target, updates)),
        "scatter_add 10M into 1M, XLA us": queued(lambda: xla(target, updates)),
    }
    if (xp := cupy()) is not None:
        at, total, ones = xp.asarray(np.asarray(places)), xp.zeros(1_000_000, xp.float32), xp.float32(1)
        found["scatter_add 10M into 1M, CuPy us"] = cupy_us(xp, lambda: xp.add.at(total, at, ones))
    return found


def main() -> None:
    """Print the figures as one line of JSON."""
    bandwidth = copy_bandwidth()
    found = {"device copy, GB/s": bandwidth / 1e9} | products(bandwidth) | events() | scatter()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
