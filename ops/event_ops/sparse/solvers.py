"""Linear systems with a `CSR`, by the iterative methods of `jax.scipy.sparse.linalg`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import bicgstab, cg, gmres
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array, check_shape, is_known
from event_ops.checks.keywords import known_size
from event_ops.sparse.coordinates import diagonal
from event_ops.sparse.products import promoted

_METHODS: dict[str, Callable[..., Any]] = {"cg": cg, "gmres": gmres, "bicgstab": bicgstab}


def solve(
    A: Any,
    b: ArrayLike,
    *,
    method: str = "cg",
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    x0: ArrayLike | None = None,
    precondition: str | Callable[[jax.Array], jax.Array] | None = "jacobi",
) -> jax.Array:
    """Find x with `A @ x = b` by an iterative method: `norm(A @ x - b) <= max(tol * norm(b), atol)`.

    It ends after maxiter steps at the latest, whether it has come so far or not: look at `A @ x - b`. Where
    that is NaN or infinite, as of such weights or b, x is NaN, and so are gradients of such cotangents.
    Works under jit. Differentiable in the weights and in b, at the price of one or two more solutions and
    independent of the steps taken: the gradient is as exact as they are.

    Args:
        b: (n,), or (n, m) for m systems, which are solved as one.
        method: "cg", for an A that is symmetric (complex: Hermitian) and positive definite; "gmres" or
            "bicgstab" for any.
        tol: relative tolerance.
        atol: absolute tolerance.
        maxiter: the most steps, for gmres restarts of 20; default: 10 n.
        x0: shape of b, where to begin; default: zeros.
        precondition: "jacobi", division by the diagonal, as 1 where it is 0; None; or a linear function of an
            array like b that approximates the inverse of A, for gradients also with gmres and bicgstab the
            inverse of A.T.

    Returns:
        x: shape of b, in the dtype to which A and b are promoted, at least a float.

    Raises:
        ValueError: an A that is not square, an unknown method or preconditioner, shapes that do not fit.

    Source: `jax.scipy.sparse.linalg`; Y. Saad, Iterative Methods for Sparse Linear Systems (2003), 6, 7, 10.
    """
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A has shape {A.shape}; expected a square matrix; of least squares: A.T @ A")
    if maxiter is not None and is_known(maxiter):
        maxiter = known_size("maxiter", maxiter)
    if method not in _METHODS:
        raise ValueError(f"method is {method!r}; expected one of {', '.join(map(repr, _METHODS))}")
    data, target = promoted(A.data, as_array(b, "b"))
    if not jnp.issubdtype(target.dtype, jnp.inexact):
        # The methods divide: integers become floats.
        data, target = data.astype(float), target.astype(float)
    matrix = A.with_data(data)
    check_shape("b", target, (A.shape[0], *target.shape[1:2]), why="one element or row per row of A")
    start = None if x0 is None else as_array(x0, "x0").astype(target.dtype)
    if start is not None:
        check_shape("x0", start, target.shape, why="as many as b has")
    if precondition == "jacobi":
        # How the solution is found is no part of its derivative.
        d = jax.lax.stop_gradient(diagonal(matrix))
        inverse = (1 / jnp.where(d == 0, 1, d)).reshape(-1, *(1,) * (target.ndim - 1))
        precondition = partial(jnp.multiply, inverse)
    if not (precondition is None or callable(precondition)):
        raise ValueError(f"precondition is {precondition!r}; expected 'jacobi', None or a function")
    options = {"tol": tol, "atol": atol, "maxiter": maxiter, "M": precondition}

    def found(product: Callable[[jax.Array], jax.Array], right: jax.Array) -> jax.Array:
        x, _ = _METHODS[method](product, right, x0=start, **options)
        # A method that meets NaN or infinity takes no step, and returns where it began.
        return jnp.where(jnp.isfinite(right - product(x)).all(), x, jnp.nan)

    symmetric = method == "cg" and not jnp.iscomplexobj(target)
    return jax.lax.custom_linear_solve(
        matrix.matvec, target, solve=found, transpose_solve=found, symmetric=symmetric
    )
