"""Changes of the rows of a CSR matrix in pure JAX: weights that are normalised, synapses that move."""

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.entries import inside, rows_of, sums_at, values_at
from event_ops.kernels.reference.random_numbers import below, philox2x32


def csr_normalize(*, subtractive: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_normalize`; entry p has the weight data[permutation[p]], or data[p] without one."""

    def normalize(
        data: jax.Array, indices: jax.Array, indptr: jax.Array, target: jax.Array, active: jax.Array,
        limit: jax.Array, *permutation: jax.Array,
    ) -> jax.Array:  # fmt: skip
        (nse,), (rows,) = data.shape, active.shape
        row = rows_of(indptr, nse)
        places = inside(permutation[0], nse) if permutation else jnp.arange(nse)
        moves = values_at(active, row) & (indices >= 0) & (indices < limit) & (places < nse)
        # Derivatives pass at active rows alone, where 0 times what is infinite at another is not NaN.
        w = jnp.where(moves, values_at(data, places), 0)
        total = sums_at(w if subtractive else jnp.abs(w), row, rows)
        goal = jnp.where(active, target, 0)
        if subtractive:
            count = jnp.maximum(sums_at(moves.astype(w.dtype), row, rows), 1)
            moved = w + values_at((goal - total) / count, row)
        else:
            factor = jnp.where(total > 0, goal / jnp.where(total > 0, total, 1), 1)
            moved = w * values_at(jnp.where(jnp.isnan(total), total, factor), row)
        return data.at[jnp.where(moves, places, nse)].set(moved, mode="drop")

    return normalize


# Of a row with half of all columns a slot stays free with a probability of 1e-77; of one with 95 %, 2e-6.
ATTEMPTS: Final = 256


def csr_rewire(*, autapses: bool, multapses: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_rewire`, with columns that are drawn where there are no targets.

    Slot k encrypts (k, step) by Philox; the first word chooses a column. Where that is not allowed, both
    words are encrypted again.
    """

    def rewire(
        indices: jax.Array, indptr: jax.Array, rewired: jax.Array, seed: jax.Array, step: jax.Array,
        columns: jax.Array, targets: jax.Array,
    ) -> jax.Array:  # fmt: skip
        (nse,), rows = indices.shape, indptr.shape[0] - 1
        row, size = inside(rows_of(indptr, nse), rows), columns.astype(indices.dtype)
        attempts = 1 if targets.shape[0] else ATTEMPTS

        def attempt(state: Any) -> Any:
            y, waiting, tried, x, z = state
            # There is no place nse: mode="drop" leaves it out, here and below.
            places = jnp.where(waiting, jnp.arange(nse), nse)
            slot = jnp.full(rows, nse).at[row].min(places, mode="drop")  # of each row the first that waits
            again = tried > 0
            x, z = jnp.where(again, x, slot.astype("uint32")), jnp.where(again, z, step)
            x, z = philox2x32(x, z, seed)
            j = values_at(targets, slot) if targets.shape[0] else below(x, columns).astype(y.dtype)
            fits = (slot < nse) & (j >= 0) & (j < size)
            if not autapses:
                fits &= j != jnp.arange(rows, dtype=j.dtype)
            if not multapses:
                fits &= ~jnp.zeros(rows, bool).at[row].max(y == values_at(j, row), mode="drop")
            y = y.at[jnp.where(fits, slot, nse)].set(j, mode="drop")
            done = fits | (tried + 1 == attempts)
            waiting = waiting.at[jnp.where(done, slot, nse)].set(False, mode="drop")
            return y, waiting, jnp.where(done, 0, tried + 1), x, z

        waiting, zeros = rewired & (row < rows), jnp.zeros(rows, "uint32")
        start = jnp.where(waiting, size, indices), waiting, jnp.zeros(rows, int), zeros, zeros
        return jax.lax.while_loop(lambda state: state[1].any(), attempt, start)[0]

    return rewire
