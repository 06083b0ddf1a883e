"""Random `CSR`s."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import check_countable
from event_ops.checks.csr import matrix_shape
from event_ops.checks.keywords import known_integer

Matrix = TypeVar("Matrix", bound=Any)

# Places are drawn again until they differ. Where they are a larger share of all, a shuffle is cheaper.
_FEW = 1 / 8


def random(
    cls: type[Matrix],
    shape: tuple[int, int],
    *,
    key: Any,
    density: float | None = None,
    per_row: int | None = None,
    dtype: Any = float,
    sampler: Callable[..., jax.Array] = jax.random.uniform,
) -> Matrix:
    """Draw a matrix: entries at random places, all different and each set of them equally likely.

    Sorted by row and column. Works under jit, where all but `key` is static.

    Args:
        shape: (rows, columns), static.
        key: of `jax.random`.
        density: the share of all elements that are stored: `round(density * rows * columns)` entries, each
            anywhere. Either this or per_row.
        per_row: as many entries in each row.
        dtype: of the weights.
        sampler: `sampler(key, (nse,), dtype)` draws the weights; default: uniform in [0, 1).

    Raises:
        TypeError: density and per_row both, or neither.
        ValueError: a density that is not in [0, 1], or a per_row that is not in [0, columns].
    """
    rows, columns = matrix_shape(shape)
    check_countable(max(rows, columns), "rows or columns")
    if (density is None) == (per_row is None):
        raise TypeError(f"got density={density} and per_row={per_row}; expected one of both")
    of_places, of_weights = jax.random.split(key)
    if density is not None:
        if not 0 <= density <= 1:
            raise ValueError(f"density is {density}; expected a share of all elements, in [0, 1]")
        row, column = _anywhere(of_places, round(density * rows * columns), rows, columns)
    else:
        per_row = known_integer("per_row", per_row)
        if not 0 <= per_row <= columns:
            raise ValueError(f"per_row is {per_row}; expected 0 to {columns}, the number of columns")
        row, column = _in_each_row(of_places, per_row, rows, columns)
    indptr = jnp.searchsorted(row, jnp.arange(rows + 1, dtype=row.dtype)).astype(jnp.int32)
    data = sampler(of_weights, row.shape, jax.dtypes.canonicalize_dtype(dtype))
    return cls(data, column, indptr, shape=(rows, columns), validate=False)


# One program for each shape: operation by operation, compiling took most of the time.
@partial(jax.jit, static_argnums=(1, 2, 3))
def _anywhere(key: Any, nse: int, rows: int, columns: int) -> tuple[jax.Array, jax.Array]:
    if nse > _FEW * rows * columns:
        places = jnp.sort(jax.random.permutation(key, rows * columns)[:nse])
        return places // columns, places % columns

    def place(key: Any) -> tuple[jax.Array, jax.Array]:
        of_row, of_column = jax.random.split(key)
        return (
            jax.random.randint(of_row, (nse,), 0, rows),
            jax.random.randint(of_column, (nse,), 0, columns),
        )

    return _all_different(key, place)


@partial(jax.jit, static_argnums=(1, 2, 3))
def _in_each_row(key: Any, per_row: int, rows: int, columns: int) -> tuple[jax.Array, jax.Array]:
    row = jnp.repeat(jnp.arange(rows), per_row, total_repeat_length=rows * per_row)
    if per_row > _FEW * columns:
        every = jnp.broadcast_to(jnp.arange(columns), (rows, columns))
        shuffled = jax.random.permutation(key, every, axis=1, independent=True)
        return row, jnp.sort(shuffled[:, :per_row], axis=1).reshape(-1)
    return _all_different(key, lambda key: (row, jax.random.randint(key, row.shape, 0, columns)))


def _all_different(key: Any, place: Callable[[Any], tuple[jax.Array, jax.Array]]) -> Any:
    """Return sorted places, as row and column: repeated ones are drawn again until there is none.

    No element is treated differently from any other, so every set of places is as likely.
    """

    def again(state: Any) -> Any:
        key, row, column, repeated = state
        key, now = jax.random.split(key)
        new_row, new_column = place(now)
        # Where rows are given, a sorted place has the row that it had.
        return key, *_sorted(jnp.where(repeated, new_row, row), jnp.where(repeated, new_column, column))

    # A key is used once: the rest of it is for what is drawn again.
    first, rest = jax.random.split(key)
    state = rest, *_sorted(*place(first))
    _, row, column, _ = jax.lax.while_loop(lambda state: state[3].any(), again, state)
    return row, column


def _sorted(row: jax.Array, column: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return sorted places, and which of them repeat the one before."""
    row, column = jax.lax.sort((row, column), num_keys=2)
    same = (row[1:] == row[:-1]) & (column[1:] == column[:-1])
    return row, column, jnp.concatenate([jnp.zeros(min(row.shape[0], 1), bool), same])
