"""Run one process of `bench cold`: imports, the start of JAX, the first product and the second.

What is timed here is imported by name when its turn comes; so is NumPy, which JAX would find loaded.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final

Product = Callable[[], Any]
Make = Callable[[Any, Any, tuple[int, int]], Product]


@dataclass(frozen=True)
class Way:
    """Hold a way to y = A @ v: modules to import first, in order, and the function that makes the product.

    `make(csr, v, shape)` puts arrays where the library wants them; what it returns is timed.
    """

    modules: tuple[str, ...]
    make: Make


def seconds_of(work: Product) -> float:
    """Time it."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _on_device(*arrays: Any) -> list[Any]:
    jax = import_module("jax")
    return [jax.block_until_ready(jax.numpy.asarray(x)) for x in arrays]


def _catalog(backend: str) -> Make:
    def make(csr: Any, v: Any, shape: tuple[int, int]) -> Product:
        args, ops = _on_device(*csr, v), import_module("event_ops")
        return lambda: ops.csr_matvec(*args, shape=shape, backend=backend).block_until_ready()

    return make


def _matrix(library: str, name: str) -> Make:
    def make(csr: Any, v: Any, shape: tuple[int, int]) -> Product:
        *arrays, x = _on_device(*csr, v)
        kind = getattr(import_module(library), name)
        return lambda: (kind(tuple(arrays), shape=shape) @ x).block_until_ready()

    return make


def _scipy(csr: Any, v: Any, shape: tuple[int, int]) -> Product:
    sparse = import_module("scipy.sparse")
    return lambda: sparse.csr_matrix(csr, shape=shape) @ v


_BY_HAND: Final = f"{__package__}.by_hand"


def _by_hand(csr: Any, v: Any, shape: tuple[int, int]) -> Product:
    kernel = import_module(_BY_HAND).matvec
    return lambda: kernel(*csr, v)


WAYS: Final[Mapping[str, Way]] = {
    "event_ops, numba_cpu": Way(("jax", "event_ops"), _catalog("numba_cpu")),
    "event_ops, numba_cpu, Numba imported before": Way(("jax", "event_ops", "numba"), _catalog("numba_cpu")),
    "event_ops, reference": Way(("jax", "event_ops"), _catalog("reference")),
    "event_ops, warp": Way(("jax", "event_ops", "warp"), _catalog("warp")),
    "JAX BCSR": Way(("jax", "jax.experimental.sparse"), _matrix("jax.experimental.sparse", "BCSR")),
    "BrainEvent": Way(("jax", "brainevent"), _matrix("brainevent", "CSR")),
    "SciPy": Way(("scipy.sparse",), _scipy),
    "Numba by hand, cache=True": Way((_BY_HAND,), _by_hand),
}


def _imports(modules: tuple[str, ...]) -> dict[str, float]:
    return {name: seconds_of(partial(import_module, name)) for name in modules}


def _start_jax() -> float:
    """Time the start of JAX's device and compiler, which whoever comes first pays for."""
    jax = import_module("jax")
    return seconds_of(lambda: jax.block_until_ready(jax.jit(lambda x: x + 1)(jax.numpy.float32(0))))


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of every import and, where a way is asked for, of its first two products."""
    if "way" not in request:
        return {"imports": _imports(tuple(request["modules"]))}
    way, rows = WAYS[request["way"]], request["rows"]
    answer: dict[str, Any] = {"imports": _imports(way.modules)}
    if "jax" in way.modules:
        answer["start"] = _start_jax()
    matrix = import_module(f"{__package__}.matrix")
    product = way.make(matrix.square_csr(rows, request["per_row"]), matrix.vector(rows), (rows, rows))
    answer["first"], answer["second"] = seconds_of(product), seconds_of(product)
    return answer | {"norm": matrix.norm(product())}
