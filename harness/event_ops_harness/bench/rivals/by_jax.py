"""JAX itself: its sparse matrices, and jax.numpy for sums at places, dense products, spikes."""

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse

from event_ops_harness.bench.rivals.by_scipy import as_multiplied, laplacian
from event_ops_harness.bench.steps import Problem, called, steps_of
from event_ops_harness.bench.timing import Steps


def _coo(problem: Problem) -> Steps:
    data, indices, _, x = problem.on_device
    coo = sparse.BCOO((data, _coordinates(indices, problem.args[2])), shape=problem.kwargs["shape"])
    return called(lambda a, x: as_multiplied(problem, a) @ x, (coo, x))


def _csr(problem: Problem) -> Steps | None:
    """Multiply with BCSR, which has the product A @ x only."""
    if problem.kwargs.get("transpose"):
        return None
    data, indices, indptr, x = problem.on_device
    csr = sparse.BCSR((data, indices, indptr), shape=problem.kwargs["shape"])
    return called(lambda a, x: a @ x, (csr, x))


def _gap_current(problem: Problem) -> Steps:
    csr = sparse.BCSR.from_scipy_sparse(laplacian(problem))
    return called(lambda a, v: a @ v, (csr, problem.on_device[-1]))


def _sampled(problem: Problem) -> Steps:
    """Multiply two dense matrices at given places."""
    indices, _, x, y = problem.on_device
    operands = (*(m.reshape(m.shape[0], -1) for m in (x, y)), _coordinates(indices, problem.args[1]))
    numbers = (((1,), (1,)), ((), ()))

    def product(x: jax.Array, y: jax.Array, at: jax.Array) -> jax.Array:
        return sparse.bcoo_dot_general_sampled(x, y, at, dimension_numbers=numbers)

    return called(product, operands)


def _dense_form(problem: Problem) -> Steps:
    return called(lambda a: a.todense(), (sparse.BCSR(problem.on_device, shape=problem.kwargs["shape"]),))


def _repeated(problem: Problem) -> Steps:
    """Repeat the value of each row for its entries."""

    def scaled(data: jax.Array, indptr: jax.Array, x: jax.Array) -> jax.Array:
        return data * jnp.repeat(x, jnp.diff(indptr), total_repeat_length=data.size)

    return called(scaled, problem.on_device)


def _coordinates(indices: jax.Array, indptr: np.ndarray) -> jax.Array:
    """Return row and column of every entry."""
    rows = np.repeat(np.arange(indptr.size - 1, dtype=indptr.dtype), np.diff(indptr))
    return jnp.stack([jnp.asarray(rows), indices], axis=1)


def _scatter(how: str, problem: Problem) -> Steps:
    return steps_of(problem, lambda t, i, u: getattr(t.at[i], how)(u))


def _segments(how: str, problem: Problem) -> Steps:
    size, ascending = problem.kwargs["num_segments"], problem.kwargs.get("indices_are_sorted", False)
    reduce: Any = getattr(jax.ops, f"segment_{how}")
    return called(lambda data, ids: reduce(data, ids, size, indices_are_sorted=ascending), problem.on_device)


def _dense(problem: Problem) -> Steps:
    return called(lambda w, e: as_multiplied(problem, w) @ e.astype(w.dtype), problem.on_device)


def _nonzero(problem: Problem) -> Steps:
    capacity = problem.kwargs.get("capacity") or problem.args[0].size

    def find(spikes: jax.Array) -> jax.Array:
        return jnp.flatnonzero(spikes, size=capacity, fill_value=spikes.size)

    return called(find, problem.on_device, values=lambda ids: (ids, problem.args[0].sum()))


_SCATTERS: Final = ("add", "max", "min", "mul")
_REDUCTIONS: Final = ("max", "min", "sum")
_PRODUCTS: Final = {"JAX BCOO": _coo, "JAX BCSR": _csr}
OFFERS: Final = {
    "csr_gap_current": {"JAX BCSR, Laplacian": _gap_current},
    "csr_matmat": _PRODUCTS,
    "csr_matvec": _PRODUCTS,
    "csr_scale_rows": {"jnp.repeat": _repeated},
    "csr_sddmm": {"JAX BCOO sampled": _sampled},
    "csr_todense": {"JAX BCSR": _dense_form},
    "dense_event_matmat": {"jnp dense": _dense},
    "dense_event_matvec": {"jnp dense": _dense},
    **{f"scatter_{how}": {f"jnp .at[].{how}": partial(_scatter, how)} for how in _SCATTERS},
    **{f"segment_{how}": {f"jax.ops.segment_{how}": partial(_segments, how)} for how in _REDUCTIONS},
    "spike_compact": {"jnp.flatnonzero": _nonzero},
}
