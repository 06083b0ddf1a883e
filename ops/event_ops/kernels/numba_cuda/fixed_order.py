"""Sums in a fixed order on a GPU: entries are sorted first, where atomics would add them in any order."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.kernels.reference.entries import ell_as_csr, starts_of
from ffi_bridge import get_operator

BACKEND = "numba_cuda"
_INT32 = np.iinfo(np.int32).max


def in_fixed_order(builder: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the builder of a CSR product: if deterministic, A.T @ x gathers from A sorted by column."""

    @functools.wraps(builder)
    def chosen(*, shape: tuple[int, int], transpose: bool, deterministic: bool = False, **params: Any) -> Any:
        if not (transpose and deterministic):
            return builder(shape=shape, transpose=transpose, **params)
        product = builder(shape=shape[::-1], transpose=False, **params)

        def call(data: Any, indices: Any, indptr: Any, x: Any, *permutation: Any) -> Any:
            rows, starts, by_column = _by_column(indices, indptr, shape)
            if permutation:
                return product(data, rows, starts, x, permutation[0][by_column])
            weights = data[by_column] if data.ndim else data  # 0-d: one for all
            return product(weights, rows, starts, x)

        return call

    return chosen


def ell_in_fixed_order(csr_product: str) -> Callable[..., Any]:
    """Decorate the builder of an ELLPACK product: if deterministic, `csr_product` computes A.T @ x."""

    def decorate(builder: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(builder)
        def chosen(*, deterministic: bool = False, **params: Any) -> Any:
            if not (params["transpose"] and deterministic):
                return builder(**params)
            product = get_operator(csr_product)

            def call(data: Any, indices: Any, x: Any) -> Any:
                static = params | {"deterministic": True, "backend": BACKEND}
                return product(*ell_as_csr(data, indices), x, **static)

            return call

        return chosen

    return decorate


def summed_at_places(places: jax.Array, updates: jax.Array, outs: jax.ShapeDtypeStruct) -> jax.Array:
    """`y[places[k]] += updates[k]` for y = 0, in the order of k; a place that y does not have is dropped."""
    n = updates.shape[0]
    ones, shape = jnp.ones(n, updates.dtype), (n, outs.shape[0])
    static = {"shape": shape, "transpose": True, "deterministic": True, "backend": BACKEND}
    return get_operator("csr_matmat")(ones, places, starts_of(n, 1), updates, outs=outs, **static)


def sorted_by_place(places: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
    """Return `(starts, permutation)` of places of which there are `size`: each has its updates side by side.

    Update permutation[k] belongs to place i for k from starts[i] up to starts[i + 1], in their order.
    """
    _, starts, permutation = _by_column(places, starts_of(places.shape[0], 1), (places.shape[0], size))
    return starts, permutation


def event_sums(
    data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array, outs: jax.ShapeDtypeStruct
) -> jax.Array:
    """Return A.T @ events for a flat `outs`, from A sorted by column."""
    shape = indptr.shape[0] - 1, outs.shape[0]
    static = {"shape": shape, "transpose": True, "deterministic": True, "backend": BACKEND}
    return get_operator("csr_event_matvec")(data, indices, indptr, events, outs=outs, **static)


def _by_column(indices: jax.Array, indptr: jax.Array, shape: tuple[int, int]) -> Any:
    """Return A.T as (indices, indptr, permutation): entry k of A.T is entry permutation[k] of A."""
    (nse,) = indices.shape
    outs = (
        # Rows of A become columns of A.T, which may need more bits than its indices have.
        jax.ShapeDtypeStruct((nse,), jnp.int64 if max(shape) > _INT32 else indices.dtype),
        jax.ShapeDtypeStruct((shape[1] + 1,), indptr.dtype),
        jax.ShapeDtypeStruct((nse,), jnp.int64 if nse > _INT32 else jnp.int32),
    )
    return get_operator("csr_tocsc")(indices, indptr, outs=outs, shape=shape, backend=BACKEND)
