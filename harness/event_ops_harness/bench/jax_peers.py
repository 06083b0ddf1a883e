"""Peers that run under `jax.jit`: JAX's own sparse matrices, and BrainEvent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse

from event_ops_harness.bench.optional import brainevent
from event_ops_harness.bench.steps import Problem, called, run_of, takes_flags
from event_ops_harness.bench.timing import Run


def jax_peers_of(problem: Problem) -> dict[str, Run]:
    """Name -> run, compiled, of everyone under JAX who computes this; empty where there is nobody."""
    peers = JAX_PEERS.get(problem.operator.name)
    return peers(problem) if peers and takes_flags(problem) else {}


def _csr_products(problem: Problem) -> dict[str, Run]:
    return _jax_products(problem) | _event_products(problem)


def _jax_products(problem: Problem) -> dict[str, Run]:
    """BCOO, and BCSR where it has the product: A @ x only."""
    data, indices, indptr, x = problem.on_device
    shape, transpose = problem.kwargs["shape"], problem.kwargs.get("transpose")
    coo = sparse.BCOO((data, _coordinates(indices, problem.args[2])), shape=shape)
    runs = {"JAX BCOO": called(lambda a, x: (a.T if transpose else a) @ x, (coo, x))}
    if not transpose:
        csr = sparse.BCSR((data, indices, indptr), shape=shape)
        runs["JAX BCSR"] = called(lambda a, x: a @ x, (csr, x))
    return runs


def _sampled(problem: Problem) -> dict[str, Run]:
    """The product of two dense matrices at given places."""
    indices, _, x, y = problem.on_device
    places = _coordinates(indices, problem.args[1])
    numbers = (((1,), (1,)), ((), ()))
    wide = [m.reshape(m.shape[0], -1) for m in (x, y)]
    return {
        "JAX BCOO sampled": called(
            lambda x, y, at: sparse.bcoo_dot_general_sampled(x, y, at, dimension_numbers=numbers),
            (*wide, places),
        )
    }


def _dense_form(problem: Problem) -> dict[str, Run]:
    data, indices, indptr = problem.on_device
    matrix = sparse.BCSR((data, indices, indptr), shape=problem.kwargs["shape"])
    return {"JAX BCSR": called(lambda a: a.todense(), (matrix,))}


def _event_products(problem: Problem) -> dict[str, Run]:
    """BrainEvent's CSR, which must be built outside of jit, and so must the scratch that it keeps."""
    be, _ = brainevent()
    if be is None:
        return {}
    events = problem.operator.name in ("csr_event_matvec", "csr_event_matmat")
    matrix = be.CSR(problem.args[:3], shape=problem.kwargs["shape"])

    def product(*args: Any) -> Any:
        x = args[-1]
        wrap = be.BinaryArray if events else jnp.asarray
        if problem.kwargs.get("transpose"):
            return (wrap(x.T) @ matrix).T
        return matrix @ wrap(x)

    product(*problem.on_device)
    return {"BrainEvent": run_of(problem, product)}


def _dense_events(problem: Problem) -> dict[str, Run]:
    be, _ = brainevent()
    if be is None:
        return {}
    transpose = problem.kwargs.get("transpose")

    def product(weights: Any, events: Any) -> Any:
        active = be.BinaryArray(events)
        return active @ weights if transpose else weights @ active

    return {"BrainEvent": run_of(problem, product)}


def _generated(problem: Problem) -> dict[str, Run]:
    """BrainEvent's matrices that are not stored: from another generator, so another matrix of the kind."""
    be, _ = brainevent()
    if be is None or problem.kwargs["distribution"] != "constant":
        return {}
    weight, seed, _ = problem.on_device
    kind = weight, problem.kwargs["prob"], int(seed)
    matrix = be.JITCScalarR(kind, shape=problem.kwargs["shape"])
    wrap = be.BinaryArray if problem.args[2].dtype == bool else jnp.asarray

    def product(weight: Any, seed: Any, x: Any) -> Any:
        return wrap(x) @ matrix if problem.kwargs["transpose"] else matrix @ wrap(x)

    return {"BrainEvent": run_of(problem, product)}


def _coordinates(indices: jax.Array, indptr: np.ndarray) -> jax.Array:
    """Row and column of every entry."""
    rows = np.repeat(np.arange(indptr.size - 1, dtype=indptr.dtype), np.diff(indptr))
    return jnp.stack([jnp.asarray(rows), indices], axis=1)


JAX_PEERS: Final[Mapping[str, Callable[[Problem], dict[str, Run]]]] = {
    "csr_event_matmat": _event_products,
    "csr_event_matvec": _event_products,
    "csr_matmat": _csr_products,
    "csr_matvec": _csr_products,
    "csr_sddmm": _sampled,
    "csr_todense": _dense_form,
    "dense_event_matvec": _dense_events,
    "procedural_event_matvec": _generated,
    "procedural_matvec": _generated,
}
