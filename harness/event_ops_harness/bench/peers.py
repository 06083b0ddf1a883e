"""The best that other libraries have for an operator: NumPy, SciPy, MKL, GraphBLAS; see also `jax_peers`.

What is not installed is left out. SciPy's and GraphBLAS's products take events as floats, cast beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from event_ops_harness.bench.optional import graphblas
from event_ops_harness.bench.rivals import RIVALS, mkl
from event_ops_harness.bench.steps import Problem, takes_flags
from event_ops_harness.bench.timing import Run, Work, repeated

Works = Callable[[Problem], Mapping[str, Work]]


def peers_of(problem: Problem) -> dict[str, Run]:
    """Name -> run of everyone who computes this and is called from Python; empty where there is nobody."""
    name = problem.operator.name
    if not takes_flags(problem):
        return {}
    found = by_hand(problem) if name in STEPPED and problem.per == "step" else {}
    works = CALLED[name](problem) if name in CALLED else {}
    return found | {peer: repeated(work) for peer, work in works.items()}


def _rivals(problem: Problem) -> Mapping[str, Work]:
    return RIVALS[problem.operator.name](problem.args, dict(problem.kwargs))


def by_hand(problem: Problem) -> dict[str, Run]:
    """The loop over steps that one would write by hand in Numba."""
    make, kwargs = RIVALS[problem.operator.name], dict(problem.kwargs)
    arrays = *problem.args[:-1], problem.bank
    return {name: _stepping(make, arrays, kwargs, name) for name in make((*arrays, 1), kwargs)}


def _stepping(make: Any, arrays: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Run:
    return lambda steps: make((*arrays, steps), kwargs)[name]()


def _products(problem: Problem) -> dict[str, Work]:
    """A CSR matrix times a dense vector or matrix."""
    data, indices, indptr, x = problem.args
    return _sparse_products(
        (np.broadcast_to(data, indices.shape), indices, indptr), problem.kwargs, np.asarray(x, data.dtype)
    )


def _ell_products(problem: Problem) -> dict[str, Work]:
    """An ELLPACK matrix as CSR, without the padding, which SciPy would read out of bounds for."""
    data, indices, x = problem.args
    inside = (indices >= 0) & (indices < problem.kwargs["shape"][1])
    indptr = np.append(0, np.cumsum(inside.sum(axis=1))).astype(indices.dtype)
    weights = np.broadcast_to(data, indices.shape)
    parts = weights[inside], indices[inside], indptr
    return _sparse_products(parts, problem.kwargs, np.asarray(x, data.dtype))


def _sparse_products(parts: tuple[Any, ...], kwargs: Mapping[str, Any], x: np.ndarray) -> dict[str, Work]:
    matrix = scipy.sparse.csr_matrix(parts, shape=kwargs["shape"])
    view = matrix.T if kwargs.get("transpose") else matrix
    works: dict[str, Work] = {"SciPy": lambda: view @ x}
    dot, _ = mkl()
    if dot is not None:
        works["MKL"] = lambda: dot(view, x)
    return works | _graphblas_products(matrix, bool(kwargs.get("transpose")), x)


def _graphblas_products(matrix: Any, transpose: bool, x: np.ndarray) -> dict[str, Work]:
    gb, _ = graphblas()
    if gb is None:
        return {}
    unique = matrix.copy()
    unique.sum_duplicates()  # it takes none
    rows, columns = unique.shape
    held = gb.Matrix.from_csr(unique.indptr, unique.indices, unique.data, nrows=rows, ncols=columns)
    view = held.T if transpose else held
    if x.ndim == 1:
        vector = gb.Vector.from_dense(x)
        return {"GraphBLAS": lambda: view.mxv(vector).new()}
    dense = gb.Matrix.from_dense(x)
    return {"GraphBLAS": lambda: view.mxm(dense).new()}


def _conversion(method: str) -> Works:
    """`csr_matrix.<method>()` of SciPy."""

    def works(problem: Problem) -> dict[str, Work]:
        *data, indices, indptr = problem.args
        weights = data[0] if data else np.ones(indices.size, np.float32)
        matrix = scipy.sparse.csr_matrix((weights, indices, indptr), shape=problem.kwargs["shape"])
        return {"SciPy": getattr(matrix, method)}

    return works


def _segments(problem: Problem) -> dict[str, Work]:
    data, ids = problem.args
    size, ascending = problem.kwargs["num_segments"], problem.kwargs.get("indices_are_sorted", False)
    run = jax.jit(lambda d, i: jax.ops.segment_sum(d, i, size, indices_are_sorted=ascending))
    device = problem.on_device

    def ufunc_at() -> Any:
        y = np.zeros(size, data.dtype)
        np.add.at(y, ids, data)
        return y

    return {
        "jax.ops.segment_sum": lambda: jax.block_until_ready(run(*device)),
        "np.add.at": ufunc_at,
        "np.bincount": lambda: np.bincount(ids, data, minlength=size),
    }


def _dense(problem: Problem) -> dict[str, Work]:
    weights, events = problem.args
    transpose = problem.kwargs.get("transpose")
    by_event = weights if transpose else weights.T
    number = events.astype(weights.dtype)
    run = jax.jit(lambda w, e: (w.T if transpose else w) @ e.astype(w.dtype))
    device = problem.on_device
    return {
        "jnp dense": lambda: jax.block_until_ready(run(*device)),
        "NumPy, BLAS": lambda: number @ by_event,
        "NumPy, active rows": lambda: by_event[events].sum(axis=0),
    }


def _packed(problem: Problem) -> dict[str, Work]:
    (events,) = problem.args
    return {"np.packbits": lambda: np.packbits(events, bitorder="little")}


def _unpacked(problem: Problem) -> dict[str, Work]:
    octets, n = problem.args[0].view(np.uint8), problem.kwargs["n"]
    return {"np.unpackbits": lambda: np.unpackbits(octets, count=n, bitorder="little")}


def _nonzero(problem: Problem) -> dict[str, Work]:
    (spikes,) = problem.args
    capacity = problem.kwargs.get("capacity") or spikes.size
    run = jax.jit(lambda x: jnp.flatnonzero(x, size=capacity, fill_value=x.size))
    device = problem.on_device
    return {
        "np.flatnonzero": lambda: np.flatnonzero(spikes),
        "jnp.flatnonzero": lambda: jax.block_until_ready(run(*device)),
    }


# Operators with a peer that does its steps in a loop in machine code, with other events at each.
STEPPED: Final = ("csr_event_matvec", "expsyn_step")

# Operator -> peers that are called from Python.
CALLED: Final[Mapping[str, Works]] = {
    "csr_event_matmat": _products,
    "csr_event_matvec": _products,
    "csr_matmat": _products,
    "csr_matvec": _products,
    "csr_tocsc": _conversion("tocsc"),
    "csr_todense": _conversion("toarray"),
    "dense_event_matvec": _dense,
    "ell_event_matvec": _ell_products,
    "ell_matvec": _ell_products,
    "pack_events": _packed,
    "scatter_add": _rivals,
    "segment_sum": _segments,
    "spike_compact": _nonzero,
    "unpack_events": _unpacked,
}
