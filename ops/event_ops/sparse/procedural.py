"""Matrices that `procedural_matvec` and `procedural_event_matvec` generate, as arrays to look at or save."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array
from event_ops.checks.procedural import check_prob, procedural_shape, seed_word, weight_parameters
from event_ops.kernels.reference.bernoulli import GAP_BITS, NO_ENTRY, gap_table, weights_at
from event_ops.kernels.reference.random_numbers import outcome, philox2x32
from event_ops.sparse.convert import row_of_each


def procedural_tocsr(
    weight: ArrayLike, seed: ArrayLike, *, prob: float, shape: tuple[int, int], distribution: str = "constant"
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """`(data, indices, indptr)` of A, the matrix that `procedural_matvec` with these arguments multiplies.

    Differentiable in weight. The number of entries depends on seed, which therefore cannot be traced.

    Args:
        weight: as in `procedural_matvec`.
        seed: integer, not traced.
        prob: as in `procedural_matvec`.
        shape: (rows, columns) of A.
        distribution: as in `procedural_matvec`.

    Returns:
        data: (nse,), dtype of weight.
        indices: (nse,), int32, ascending in every row.
        indptr: (rows + 1,), int32.

    Raises:
        TypeError: a dtype that is not supported, or a traced seed.
        ValueError: an argument that `procedural_matvec` refuses, or more entries than int32 can count.
    """
    parameters, word = as_array(weight_parameters(weight, distribution, float)), seed_word(seed)
    if isinstance(word, Tracer):
        raise TypeError("seed is traced; expected a concrete integer: call procedural_tocsr outside of jit")
    key = np.asarray(word).reshape(1)
    rows, columns, words = _entries(key, check_prob(prob), procedural_shape(shape))
    size = np.iinfo(np.int32).max
    if rows.size > size:
        raise ValueError(f"A has {rows.size} entries; expected at most {size}: use blocks of rows")
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
    data = weights_at(parameters, distribution, *map(jnp.asarray, (key, rows, columns, words)))
    indices = jnp.asarray(columns.astype(np.int32))
    return jnp.broadcast_to(data, indices.shape), indices, jnp.asarray(indptr.astype(np.int32))


def procedural_todense(
    weight: ArrayLike, seed: ArrayLike, *, prob: float, shape: tuple[int, int], distribution: str = "constant"
) -> jax.Array:
    """`A`, (rows, columns), the matrix that `procedural_matvec` with these arguments multiplies.

    Takes and refuses what `procedural_tocsr` does. Differentiable in weight.
    """
    data, indices, indptr = procedural_tocsr(weight, seed, prob=prob, shape=shape, distribution=distribution)
    return jnp.zeros(shape, data.dtype).at[row_of_each(indptr), indices].set(data)


def _entries(seed: np.ndarray, prob: float, shape: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Return row, column and weight word of every entry, sorted by row and column."""
    table, end = gap_table(prob), shape[1]
    rows, column = np.arange(shape[0], dtype=np.uint32), np.zeros(shape[0], np.uint32)
    entries: list[tuple[Any, ...]] = [(rows[:0], column[:0], rows[:0])]
    draw = np.zeros(1, np.uint32)
    # All rows draw their next gap at once; one that has gone beyond the last column is done.
    while rows.size and end:
        gaps, words = philox2x32(draw, rows, seed)
        gaps = outcome(table, gaps, GAP_BITS)
        column = column + gaps
        inside = column < end
        rows, column, gaps, words = rows[inside], column[inside], gaps[inside], words[inside]
        there = gaps != NO_ENTRY
        entries.append((rows[there], column[there], words[there]))
        column, draw = column + there.astype(np.uint32), draw + np.uint32(1)
    arrays = [np.concatenate(part) for part in zip(*entries, strict=True)]
    # Draws of a row come with ascending columns: a stable sort by row keeps these.
    order = np.argsort(arrays[0], kind="stable")
    return tuple(part[order] for part in arrays)
