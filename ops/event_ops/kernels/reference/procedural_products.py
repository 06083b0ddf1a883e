"""Products with a Bernoulli random matrix in pure JAX: the definition of the procedural operators."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.kernels.reference.bernoulli import GAP_BITS, NO_ENTRY, gap_table, weights_at
from event_ops.kernels.reference.entries import along, event_terms, sums_at, values_at
from event_ops.kernels.reference.random_numbers import outcome, philox2x32


def fold_entries(
    add: Callable[..., Any], start: Any, seed: Any, prob: float, rows: Any, columns: int, skip: Any
) -> Any:
    """Apply `total = add(total, there, row, column, word)` to all entries, one of every row at a time.

    `there` tells in which rows there is one. Rows in `skip` have none, whatever their stream says.
    """
    table = jnp.asarray(gap_table(prob))
    end = np.uint32(columns)

    def step(state: Any) -> Any:
        draw, column, total = state
        gaps, words = philox2x32(draw, rows, seed)
        gaps = outcome(table, gaps, GAP_BITS)
        column = column + gaps
        is_entry = gaps != np.uint32(NO_ENTRY)
        total = add(total, is_entry & (column < end), rows, column, words)
        return draw + np.uint32(1), jnp.minimum(column + is_entry.astype(np.uint32), end), total

    first = jnp.where(skip, end, np.uint32(0))
    state = jnp.zeros((), np.uint32), first, start
    return jax.lax.while_loop(lambda state: jnp.any(state[1] < end), step, state)[2]


def product(
    terms_of: Callable[[Any, Any], Any],
    counts: Callable[[Any], Any],
    *,
    prob: float,
    shape: tuple[int, int],
    distribution: str,
    transpose: bool,
    **_: Any,
) -> Callable[..., jax.Array]:
    """Return `(weight, seed, x) -> y`: y[i] = sum of terms_of(weight (i, j), x[j]), or transposed.

    x is a vector or a matrix. The transpose generates only rows in which an x counts.
    """

    def call(weight: jax.Array, seed: jax.Array, x: jax.Array) -> jax.Array:
        def add(y: jax.Array, there: Any, rows: Any, columns: Any, words: Any) -> jax.Array:
            weights = weights_at(weight, distribution, seed, rows, columns, words)
            terms = terms_of(along(weights, x), x if transpose else values_at(x, columns))
            terms = jnp.where(along(there, x), terms, 0)
            return y + (sums_at(terms, columns, shape[1]) if transpose else terms)

        used = counts(x).any(axis=tuple(range(1, x.ndim)))
        skip = ~used if transpose else jnp.zeros(shape[0], bool)
        y = jnp.zeros((shape[1] if transpose else shape[0], *x.shape[1:]), weight.dtype)
        return fold_entries(add, y, seed, prob, jnp.arange(shape[0], dtype="uint32"), shape[1], skip)

    return call


procedural_matvec = procedural_matmat = partial(product, operator.mul, lambda x: jnp.ones(x.shape, bool))
procedural_event_matvec = procedural_event_matmat = partial(product, event_terms, lambda x: x.astype(bool))
