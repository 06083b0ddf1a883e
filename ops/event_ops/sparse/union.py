"""Two `CSR`s of any structures: their sum and their difference, and whether they are the same matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Never

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import is_inside
from event_ops.parts.reference.entries import values_at
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
    """Return how(A, B), a sum or a difference, as a `CSR`; raise unless both are of one shape."""
    if not isinstance(B, type(A)):
        if isinstance(B, int | float) and B == 0:
            return A  # sum() of several matrices begins with it
        return refuse("Adding anything but a CSR to a CSR", "A.todense() + x, or A + CSR(x)")
    if A.shape != B.shape:
        raise ValueError(f"the matrices have shapes {A.shape} and {B.shape}; expected one shape")
    if _surely_same(A, B):
        return A.with_data(how(A.data, B.data))
    if A.transposed and B.transposed:
        return added(how, A.T, B.T).T
    return (_merged if has_known_structure(A, B) else _appended)(how, A, B)


def _surely_same(A: Any, B: Any) -> bool:
    one = A.indices is B.indices and A.indptr is B.indptr
    return (one or has_known_structure(A, B)) and same_structure(A, B)


def _merged(how: Function, A: Any, B: Any) -> Any:
    """Return the sum with the union of both structures: sorted, without duplicates."""
    (row_a, column_a, k_a), (row_b, column_b, k_b) = known_coordinates(A), known_coordinates(B)
    row, column = np.concatenate([row_a, row_b]), np.concatenate([column_a, column_b])
    row, column, places = distinct(row, column)
    a, b = promoted(A.repeated_data(), B.repeated_data())
    k_a, k_b = constant(k_a, A.nse), constant(k_b, B.nse)
    zeros = jnp.zeros(row.size, a.dtype)
    summed_a = zeros.at[places[: k_a.size]].add(values_at(a, k_a))
    summed_b = zeros.at[places[k_a.size :]].add(values_at(b, k_b))
    return of_sorted(type(A), how(summed_a, summed_b), row, column, A.shape)


def _appended(how: Function, A: Any, B: Any) -> Any:
    """Return the sum with the entries of B behind those of A in each row: nse is that of both."""
    a, b = promoted(A.repeated_data(), B.repeated_data())
    (row_a, column_a), (row_b, column_b) = coordinates(A), coordinates(B)
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
    (row_a, column_a), (row_b, column_b) = coordinates(A), coordinates(B)
    row, column = jnp.concatenate([row_a, row_b]), jnp.concatenate([column_a, column_b])
    counts = is_inside(row, A.shape[0]) & is_inside(column, A.shape[1])
    order = jnp.lexsort((column, row))
    places = jnp.zeros_like(order).at[order].set(_place_of_sorted(row[order], column[order]))
    size, n = row.shape[0], A.nse
    sums = [
        jnp.zeros(size, a.dtype).at[place].add(jnp.where(count, x, 0))
        for x, place, count in ((a, places[:n], counts[:n]), (b, places[n:], counts[n:]))
    ]
    return jnp.allclose(sums[0], sums[1], rtol, atol, equal_nan)


def _place_of_sorted(row: jax.Array, column: jax.Array) -> jax.Array:
    """Return, for sorted coordinates, the number of different ones up to each, less one."""
    differs = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    return jnp.cumsum(jnp.concatenate([jnp.zeros(min(row.shape[0], 1), bool), differs]))


def no_equality(A: Any, B: Any) -> Never:
    """Raise TypeError: which `==` is meant, one of matrices, of structures or of objects, has to be said."""
    raise TypeError(
        "A == B of CSR matrices would be a dense matrix of bools, or say whether both are one object; use "
        "A.allclose(B) for their elements, A.same_structure(B), jnp.array_equal(A.data, B.data) or A is B"
    )
