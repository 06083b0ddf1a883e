"""Run one process of `bench memory`: build a matrix, multiply it, and read the resident memory."""

import functools
import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.experimental import sparse

import event_ops
from event_ops_harness.bench.workers.matrix import flags, norm, square_csr, structure, vector
from event_ops_harness.bench.workers.resident import peak_of, resident

Build = Callable[[int, int], Any]
Product = Callable[[Any, Any], Any]

_SEED: Final = 7
_WEIGHT: Final = np.float32(0.5)


@dataclass(frozen=True)
class Kind:
    """Hold how to build a matrix, its product with a dense vector, and the one with events.

    `compared`: which of them must be those of SciPy; none where the matrix is another one.
    """

    build: Build
    product: Product
    event_product: Product
    compared: tuple[str, ...] = ("product", "event product")


@dataclass(frozen=True)
class Procedural:
    """Hold a matrix that is a probability: it has `per_row` entries in a row of `rows`, on average."""

    rows: int
    per_row: int

    @property
    def how(self) -> dict[str, Any]:
        """Return its probability and shape, as keywords."""
        return {"prob": self.per_row / self.rows, "shape": (self.rows, self.rows)}


def _csr(rows: int, per_row: int) -> event_ops.CSR:
    return event_ops.CSR(*square_csr(rows, per_row), shape=(rows, rows))


def _one_weight(rows: int, per_row: int) -> event_ops.CSR:
    return event_ops.CSR(_WEIGHT, *structure(rows, per_row), shape=(rows, rows))


def _planned(rows: int, per_row: int) -> event_ops.CSR:
    return _csr(rows, per_row).plan()


def _scipy(rows: int, per_row: int) -> Any:
    return scipy.sparse.csr_matrix(square_csr(rows, per_row), shape=(rows, rows))


def _bcsr(rows: int, per_row: int) -> Any:
    data, indices, indptr = map(jnp.asarray, square_csr(rows, per_row))
    return sparse.BCSR((data, indices, indptr), shape=(rows, rows))


def _brainevent(rows: int, per_row: int) -> Any:
    arrays = tuple(map(jnp.asarray, square_csr(rows, per_row)))
    return import_module("brainevent").CSR(arrays, shape=(rows, rows))


def _brainevent_generated(rows: int, per_row: int) -> Any:
    return import_module("brainevent").JITCScalarR(
        (float(_WEIGHT), per_row / rows, _SEED), shape=(rows, rows)
    )


def _times(A: Any, v: Any) -> Any:
    return A @ v


# Under jit with the matrix as an argument: as a constant it would be there twice.
_product = jax.jit(_times)
_by_rows = jax.jit(lambda A, e: event_ops.Events(e) @ A)
_by_plan = jax.jit(lambda A, e: A @ event_ops.Events(e))
_numbers = jax.jit(lambda A, e: A @ e.astype(np.float32))


def _generated(A: Procedural, v: Any) -> Any:
    return event_ops.procedural_matvec(_WEIGHT, _SEED, v, **A.how)


def _generated_events(A: Procedural, e: Any) -> Any:
    return event_ops.procedural_event_matvec(_WEIGHT, _SEED, e, transpose=True, **A.how)


def _brainevent_events(A: Any, e: Any) -> Any:
    return import_module("brainevent").BinaryArray(e) @ A


KINDS: Final[Mapping[str, Kind]] = {
    "event_ops.CSR": Kind(_csr, _product, _by_rows),
    "event_ops.CSR, one weight": Kind(_one_weight, _product, _by_rows, ()),
    "event_ops.CSR, planned": Kind(_planned, _product, _by_plan, ("product",)),
    "event_ops, procedural": Kind(Procedural, _generated, _generated_events, ()),
    "SciPy CSR": Kind(_scipy, _times, lambda A, e: A.T @ np.asarray(e, np.float32)),
    "JAX BCSR": Kind(_bcsr, _product, _numbers, ("product",)),
    "BrainEvent CSR": Kind(_brainevent, _times, _brainevent_events),
    "BrainEvent, procedural": Kind(_brainevent_generated, _times, _brainevent_events, ()),
}


def finished(work: Callable[[], Any]) -> Callable[[], Any]:
    """Return work that returns when its result is there."""
    return lambda: jax.block_until_ready(work())


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return bytes and seconds of each stage, and the norms of both products."""
    kind, rows = KINDS[request["kind"]], request["rows"]
    vectors = [vector(rows), flags(rows)]
    v, e = vectors if request["kind"].startswith("SciPy") else map(jnp.asarray, vectors)
    build = functools.partial(kind.build, rows, request["per_row"])
    jax.block_until_ready(build())  # imports and compiles
    building, seconds, A = peak_of(finished(build))
    gc.collect()
    times = {"building": seconds}
    answer: dict[str, Any] = {"building": building, "kept": resident()["now"], "seconds": times}
    for name, product, x in (("product", kind.product, v), ("event product", kind.event_product, e)):
        call = functools.partial(product, A, x)
        jax.block_until_ready(call())  # compiles
        answer[name], times[name], y = peak_of(finished(call))
        answer[f"norm of {name}"] = norm(y)
    return answer
