"""CSR and event products, and scatter, on the GPU, beside cuSPARSE, CuPy, BrainEvent and XLA.

A figure is the time in which the GPU works for one of many calls: kernels and copies, without launches.
Shares are of the bandwidth of a device copy measured in the same run.
"""

import importlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse

import event_ops
from event_ops.cases.draw import Draw
from event_ops_harness.gpu.kernels import Work, copy_bandwidth, recorded
from event_ops_harness.gpu.kernels import made as able

SHAPES = ((1000, 2000, 100), (100_000, 100_000, 100), (1_000_000, 1_000_000, 10), (20_000, 200_000, 1000))
NEURONS, DEGREE = 100_000, 100
ACTIVE = (0.001, 0.01, 0.1)
WIDTH = 32  # vectors of csr_matmat
CALLS = 16
CsrArrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def matrix(rows: int, columns: int, degree: int) -> CsrArrays:
    """Return data, indices and indptr of a matrix with `degree` entries in every row."""
    return Draw(np.random.default_rng(0), "float32", "int32").fixed_degree_csr((rows, columns), degree)


def looped(call: Callable[[Any], Any], bank: Any) -> Work:
    """Return CALLS calls on the elements of `bank` in turn, each after the one before."""

    def body(t: Any, y: Any) -> Any:
        x = jax.lax.dynamic_index_in_dim(bank, t % len(bank), keepdims=False)
        return call(jax.lax.optimization_barrier((x, y))[0])

    def run() -> Any:
        like = jax.eval_shape(call, bank[0])
        return jax.lax.fori_loop(0, CALLS, body, jnp.zeros(like.shape, like.dtype))

    return jax.jit(run)


def cupy() -> tuple[Any, Any]:
    """Return CuPy and its sparse matrices, or twice None where it is not installed."""
    try:
        return importlib.import_module("cupy"), importlib.import_module("cupyx.scipy.sparse")
    except ImportError:
        return None, None


def repeated(xp: Any, work: Callable[[], Any]) -> Work:
    """Return CALLS calls of CuPy."""

    def run() -> None:
        for _ in range(CALLS):
            work()
        xp.cuda.Device().synchronize()

    return run


def event_rival(host_csr: CsrArrays, n: int) -> Callable[[Any], Any]:
    """Return BrainEvent's `spikes @ A`, on the CUDA kernel that it chooses."""
    be = importlib.import_module("brainevent")
    A = be.CSR(host_csr, shape=(n, n))
    return jax.jit(lambda spikes: be.BinaryArray(spikes) @ A)


def of_shape(rows: int, columns: int, degree: int) -> dict[str, Callable[[], Work]]:
    """Return, by name, makers of products with one vector and with several."""
    host_csr, shape = matrix(rows, columns, degree), (rows, columns)
    data, indices, indptr = csr = tuple(map(jnp.asarray, host_csr))
    bank = jnp.asarray(np.random.default_rng(1).standard_normal((2, columns), np.float32))
    several = jnp.asarray(np.random.default_rng(2).standard_normal((2, columns, WIDTH), np.float32))
    named = f"{rows}x{columns}-{degree}"
    makers: dict[str, Callable[[], Work]] = {
        f"csr_matvec {named}": lambda: looped(partial(event_ops.csr_matvec, *csr, shape=shape), bank),
        f"csr_matmat {named} n={WIDTH}": lambda: looped(
            partial(event_ops.csr_matmat, *csr, shape=shape), several
        ),
        f"csr_matvec {named}, JAX BCSR": lambda: looped(
            sparse.BCSR((data, indices, indptr), shape=shape).__matmul__, bank
        ),
    }
    xp, scipy = cupy()
    if xp is not None:
        A = scipy.csr_matrix(tuple(map(xp.asarray, host_csr)), shape=shape)
        w, W = xp.asarray(np.asarray(bank[0])), xp.asarray(np.asarray(several[0]))
        makers[f"csr_matvec {named}, cuSPARSE"] = lambda: repeated(xp, lambda: A @ w)
        makers[f"csr_matmat {named} n={WIDTH}, cuSPARSE"] = lambda: repeated(xp, lambda: A @ W)
    return makers


def of_events() -> dict[str, Callable[[], Work]]:
    """Return makers of the event products of 100,000 neurons, of BrainEvent's, and of cuSPARSE's full one."""
    host_csr, shape = matrix(NEURONS, NEURONS, DEGREE), (NEURONS, NEURONS)
    csr = tuple(map(jnp.asarray, host_csr))
    product = partial(event_ops.csr_event_matvec, *csr, shape=shape, transpose=True)
    rng, makers = np.random.default_rng(1), {}
    for rate in ACTIVE:
        bank, name = jnp.asarray(rng.random((16, NEURONS)) < rate), f"csr_event_matvec at {rate:.1%}"
        makers[name] = partial(looped, product, bank)
        makers[f"{name}, deterministic"] = partial(looped, partial(product, deterministic=True), bank)
        makers[f"{name}, BrainEvent"] = lambda bank=bank: looped(event_rival(host_csr, NEURONS), bank)
    xp, scipy = cupy()
    if xp is not None:
        A = scipy.csr_matrix(tuple(map(xp.asarray, host_csr)), shape=shape).T.tocsr()
        w = xp.ones(NEURONS, xp.float32)
        makers["full product, cuSPARSE"] = lambda: repeated(xp, lambda: A @ w)
    return makers


def of_scatter() -> dict[str, Callable[[], Work]]:
    """Return makers of 10 M updates of 1 M elements."""
    rng = np.random.default_rng(2)
    places = jnp.asarray(rng.integers(0, 1_000_000, 10_000_000, np.int32))
    bank = jnp.asarray(rng.standard_normal((2, places.size), np.float32))
    target, name = jnp.zeros(1_000_000, jnp.float32), "scatter_add 10M into 1M"
    makers: dict[str, Callable[[], Work]] = {
        name: lambda: looped(lambda u: event_ops.scatter_add(target, places, u), bank),
        f"{name}, XLA": lambda: looped(lambda u: target.at[places].add(u), bank),
    }
    xp, _ = cupy()
    if xp is not None:
        at, total, ones = xp.asarray(np.asarray(places)), xp.zeros(target.size, xp.float32), xp.float32(1)
        makers[f"{name}, CuPy"] = lambda: repeated(xp, lambda: xp.add.at(total, at, ones))
    return makers


def in_us(name: str) -> str:
    """Return the name of a figure in microseconds: of ours, or behind a comma of another's."""
    return f"{name} us" if ", " in name else f"{name}, us"


def busy(makers: dict[str, Callable[[], Work]]) -> dict[str, Any]:
    """Return microseconds of the GPU for one call of each; in place of one that fails, why."""
    works, failed = able(makers)
    figures: dict[str, Any] = {in_us(name): why for name, why in failed.items()}
    for name, kernels in zip(works, recorded(list(works.values())), strict=True):
        figures[in_us(name)] = sum(kernel.us for kernel in kernels.values()) / CALLS
    return figures


def main() -> None:
    """Print the figures as one line of JSON."""
    bandwidth = copy_bandwidth()
    figures: dict[str, Any] = {"device copy, GB/s": bandwidth / 1e9}
    for rows, columns, degree in SHAPES:
        figures |= busy(of_shape(rows, columns, degree))
        moved = 8 * rows * degree + 4 * (rows + 1) + 4 * (rows + columns)
        name = f"csr_matvec {rows}x{columns}-{degree}"
        figures[f"{name}, share"] = moved / (figures[f"{name}, us"] * 1e-6) / bandwidth
    print(json.dumps(figures | busy(of_events()) | busy(of_scatter())))


if __name__ == "__main__":
    main()
