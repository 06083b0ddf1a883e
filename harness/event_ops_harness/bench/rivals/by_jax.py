"""JAX itself: its sparse matrices, and what jax.numpy has for sums at places, dense products, spikes."""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse

from event_ops_harness.bench.rivals.by_scipy import as_multiplied
from event_ops_harness.bench.steps import Problem, called
from event_ops_harness.bench.timing import Run


def _product(problem: Problem) -> dict[str, Run]:
    """Multiply with BCOO, and with BCSR where it has the product: A @ x only."""
    data, indices, indptr, x = problem.on_device
    shape = problem.kwargs["shape"]
    coo = sparse.BCOO((data, _coordinates(indices, problem.args[2])), shape=shape)
    runs = {"JAX BCOO": called(lambda a, x: as_multiplied(problem, a) @ x, (coo, x))}
    if not problem.kwargs.get("transpose"):
        csr = sparse.BCSR((data, indices, indptr), shape=shape)
        runs["JAX BCSR"] = called(lambda a, x: a @ x, (csr, x))
    return runs


def _sampled(problem: Problem) -> dict[str, Run]:
    """Multiply two dense matrices at given places."""
    indices, _, x, y = problem.on_device
    operands = (*(m.reshape(m.shape[0], -1) for m in (x, y)), _coordinates(indices, problem.args[1]))
    numbers = (((1,), (1,)), ((), ()))

    def product(x: jax.Array, y: jax.Array, at: jax.Array) -> jax.Array:
        return sparse.bcoo_dot_general_sampled(x, y, at, dimension_numbers=numbers)

    return {"JAX BCOO sampled": called(product, operands)}


def _dense_form(problem: Problem) -> dict[str, Run]:
    matrix = sparse.BCSR(problem.on_device, shape=problem.kwargs["shape"])
    return {"JAX BCSR": called(lambda a: a.todense(), (matrix,))}


def _coordinates(indices: jax.Array, indptr: np.ndarray) -> jax.Array:
    """Return row and column of every entry."""
    rows = np.repeat(np.arange(indptr.size - 1, dtype=indptr.dtype), np.diff(indptr))
    return jnp.stack([jnp.asarray(rows), indices], axis=1)


def _scatter(problem: Problem) -> dict[str, Run]:
    return {"jnp .at[].add": called(lambda t, i, u: t.at[i].add(u), problem.on_device)}


def _segments(problem: Problem) -> dict[str, Run]:
    size, ascending = problem.kwargs["num_segments"], problem.kwargs.get("indices_are_sorted", False)

    def sums(data: jax.Array, ids: jax.Array) -> jax.Array:
        return jax.ops.segment_sum(data, ids, size, indices_are_sorted=ascending)

    return {"jax.ops.segment_sum": called(sums, problem.on_device)}


def _dense(problem: Problem) -> dict[str, Run]:
    return {
        "jnp dense": called(lambda w, e: as_multiplied(problem, w) @ e.astype(w.dtype), problem.on_device)
    }


def _nonzero(problem: Problem) -> dict[str, Run]:
    capacity = problem.kwargs.get("capacity") or problem.args[0].size

    def find(spikes: jax.Array) -> jax.Array:
        return jnp.flatnonzero(spikes, size=capacity, fill_value=spikes.size)

    return {"jnp.flatnonzero": called(find, problem.on_device)}


OFFERS: Final = {
    "csr_matmat": _product,
    "csr_matvec": _product,
    "csr_sddmm": _sampled,
    "csr_todense": _dense_form,
    "dense_event_matvec": _dense,
    "scatter_add": _scatter,
    "segment_sum": _segments,
    "spike_compact": _nonzero,
}
