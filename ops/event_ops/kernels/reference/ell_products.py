"""Products of an ELLPACK matrix in pure JAX: definitions, as sums of a term for each entry."""

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import event_terms, sums_at, values_at

Term = Callable[[jax.Array, jax.Array], jax.Array]


def make_product(term: Term, outs: Any, shape: tuple[int, int], transpose: bool) -> Callable[..., jax.Array]:
    """Return the product for one orientation, whose entries add `term(weights, x)`."""

    def matvec(data: jax.Array, indices: jax.Array, x: jax.Array) -> jax.Array:
        """y[i] = sum over k of term(data[i, k], x[indices[i, k]])."""
        terms = term(data.astype(outs.dtype), values_at(x, indices))
        return jnp.sum(jnp.where(is_inside(indices, shape[1]), terms, 0), axis=1, dtype=outs.dtype)

    def matvec_transposed(data: jax.Array, indices: jax.Array, x: jax.Array) -> jax.Array:
        """y[j] = sum over the entries (i, k) of column j of term(data[i, k], x[i])."""
        terms = term(data.astype(outs.dtype), jnp.broadcast_to(x[:, None], indices.shape))
        return sums_at(terms.reshape(-1), indices.reshape(-1), shape[1])

    return matvec_transposed if transpose else matvec


def ell_matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return the product with a vector of numbers."""
    return make_product(operator.mul, outs, shape, transpose)


def ell_event_matvec(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return the product with events."""
    return make_product(event_terms, outs, shape, transpose)
