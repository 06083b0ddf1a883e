"""Two `CSR`s of any structures: sum, difference, product by elements, whether they are one matrix."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import grouped, values_at
from event_ops.sparse.arithmetic import refuse, same_structure
from event_ops.sparse.coordinates import (
    constant,
    coordinates,
    distinct,
    has_known_structure,
    known_coordinates,
    of_sorted,
)
from event_ops.sparse.products import promoted

Function = Callable[[Any, Any], Any]


def added(how: Function, A: Any, B: Any) -> Any:
    """Return how(A, B), a sum or a difference, as a `CSR`; raise unless both are of one shape.

    Of known structures it has the union of both: sorted, without duplicates.
    """
    if not isinstance(B, type(A)):
        if isinstance(B, int | float) and B == 0:
            return A  # sum() of several matrices begins with it
        return refuse("Adding anything but a CSR to a CSR", "A.todense() + x, or A + CSR(x)")
    if A.shape != B.shape:
        raise ValueError(f"the matrices have shapes {A.shape} and {B.shape}; expected one shape")
    both_known = has_known_structure(A, B)
    if (both_known or (A.indices is B.indices and A.indptr is B.indptr)) and same_structure(A, B):
        return A.with_data(how(A.data, B.data))
    if A.transposed and B.transposed:
        return added(how, A.T, B.T).T
    if not both_known:
        return _appended(how, A, B)
    both = _both(A, B)
    return of_sorted(type(A), how(*_summed(A, B, both)), both.row, both.column, A.shape)


def multiplied(A: Any, B: Any) -> Any:
    """Return the product element by element as a `CSR`; raise ValueError unless both are of one shape."""
    if A.shape != B.shape:
        raise ValueError(
            f"the matrices have shapes {A.shape} and {B.shape}; expected one shape; a product of matrices is "
            "A @ B"
        )
    if A.transposed and B.transposed:
        return multiplied(A.T, B.T).T
    if not has_known_structure(A, B):
        return A.with_data(_at_entries_of(A, B))
    both = _both(A, B)
    if both.row.size == A.nse and same_structure(A, B):
        return A.with_data(jnp.multiply(*promoted(A.data, B.data)))
    there = np.zeros((2, both.row.size), bool)
    there[0, both.of_a], there[1, both.of_b] = True, True
    (met,) = np.nonzero(there.all(axis=0))
    a, b = (values_at(x, constant(met, both.row.size)) for x in _summed(A, B, both))
    return of_sorted(type(A), a * b, both.row[met], both.column[met], A.shape)


@jax.jit
def _at_entries_of(A: Any, B: Any) -> jax.Array:
    """Return each weight of A times the element of B at its place, 0 where B has none.

    Duplicates of A add up to the product with their sum, so that none has to be found.
    """
    a, b = promoted(A.repeated_data(), B.repeated_data())
    of_a, of_b, counts = _places(A, B)
    n, size = A.nse, A.nse + B.nse
    # Entries that do not count have places as well, and must not add to a weight that does.
    sums = jnp.zeros(size, b.dtype).at[of_b].add(jnp.where(counts[n:], b, 0))
    there = jnp.zeros(size, bool).at[of_b].max(counts[n:])
    return jnp.where(there[of_a] & counts[:n], a * sums[of_a], 0)


class _Both(NamedTuple):
    """The different elements of two known structures, sorted; of the entries that count, where and which."""

    row: Any
    column: Any
    k_a: Any
    k_b: Any
    of_a: Any
    of_b: Any


def _both(A: Any, B: Any) -> _Both:
    (row_a, column_a, k_a), (row_b, column_b, k_b) = known_coordinates(A), known_coordinates(B)
    row, column = np.concatenate([row_a, row_b]), np.concatenate([column_a, column_b])
    row, column, places = distinct(row, column)
    return _Both(row, column, k_a, k_b, places[: k_a.size], places[k_a.size :])


def _summed(A: Any, B: Any, both: _Both) -> tuple[jax.Array, jax.Array]:
    """Return for each element the sum of the weights of A, and that of B."""
    a, b = promoted(A.repeated_data(), B.repeated_data())
    zeros = jnp.zeros(both.row.size, a.dtype)
    return (
        zeros.at[both.of_a].add(values_at(a, constant(both.k_a, A.nse))),
        zeros.at[both.of_b].add(values_at(b, constant(both.k_b, B.nse))),
    )


def _appended(how: Function, A: Any, B: Any) -> Any:
    """Return the sum with the entries of B behind the ones of A in each row: nse is the sum of both."""
    a, b = promoted(A.repeated_data(), B.repeated_data())
    (row_a, column_a), (row_b, column_b) = coordinates(A), coordinates(B)
    # Neither looks for the entries of the other; what is twice there adds up when it is used.
    data = jnp.concatenate([a, how(jnp.zeros_like(b), b)])
    row, column = jnp.concatenate([row_a, row_b]), jnp.concatenate([column_a, column_b])
    return type(A).from_coo(row, column, data, shape=A.shape, validate=False)


def allclose(A: Any, B: Any, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False) -> jax.Array:
    """`all(abs(A - B) <= atol + rtol * abs(B))` over all elements, whatever entries each matrix has.

    Duplicates add up, and an element that is not stored is 0; so matrices of other structure may be equal.
    With rtol=0 and atol=0 elements have to be equal. Works under jit.

    Args:
        B: a `CSR` of the shape of A.
        rtol: relative tolerance, static.
        atol: absolute tolerance, static.
        equal_nan: whether NaN is equal to NaN.

    Returns:
        0-d, bool.

    Raises:
        TypeError: B is not a `CSR`.
        ValueError: B has another shape.
    """
    if not isinstance(B, type(A)):
        raise TypeError(f"got {type(B).__name__}; expected a CSR: A.allclose(CSR(x))")
    if A.shape != B.shape:
        raise ValueError(f"the matrices have shapes {A.shape} and {B.shape}; expected one shape")
    return _all_close(A, B, rtol, atol, equal_nan=equal_nan)


@partial(jax.jit, static_argnames="equal_nan")
def _all_close(A: Any, B: Any, rtol: Any, atol: Any, *, equal_nan: bool) -> jax.Array:
    a, b = promoted(A.repeated_data(), B.repeated_data())
    of_a, of_b, counts = _places(A, B)
    size, n = A.nse + B.nse, A.nse
    sums = [
        jnp.zeros(size, a.dtype).at[place].add(jnp.where(count, x, 0))
        for x, place, count in ((a, of_a, counts[:n]), (b, of_b, counts[n:]))
    ]
    return jnp.allclose(sums[0], sums[1], rtol, atol, equal_nan)


def _places(A: Any, B: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return which of all different elements each entry of A is, and each of B, and which entries count."""
    (row_a, column_a), (row_b, column_b) = coordinates(A), coordinates(B)
    row, column = jnp.concatenate([row_a, row_b]), jnp.concatenate([column_a, column_b])
    counts = is_inside(row, A.shape[0]) & is_inside(column, A.shape[1])
    order, first = grouped(row, column, jnp)
    places = jnp.zeros_like(order).at[order].set(jnp.cumsum(first) - 1)
    return places[: A.nse], places[A.nse :], counts
