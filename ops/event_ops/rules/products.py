"""Derivative and batching rules of products with a matrix: CSR, ELLPACK or generated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from event_ops.parts.reference.entries import inside, values_at
from event_ops.rules.linear_inputs import of_one_weight
from ffi_bridge import XLACustomKernel, get_operator


def fold_into(
    kernel: XLACustomKernel,
    matmat: str,
    *,
    transposed: bool,
    matrix_of: Callable[..., tuple[Any, ...]] = lambda *matrix: matrix,
) -> Callable[..., tuple[Any, int]]:
    """Return the batching rule of `kernel(*matrix, x)`: one `matmat` if only x is mapped.

    Entries are then read once for the whole batch, also in derivatives. Everything else is batched as if
    there were no rule, and so is transpose=True unless `transposed`. `matrix_of` makes the arguments of
    matmat that stand for the matrix of those of the kernel.
    """

    def rule(
        args: tuple[Any, ...], axes: tuple[Any, ...], *, outs: Any, transpose: bool, **params: Any
    ) -> tuple[Any, int]:
        *matrix, x = args
        product, backend = get_operator(matmat), params["backend"]
        foldable = all(axis is None for axis in axes[:-1]) and (transposed or not transpose)
        if not foldable or backend not in (None, *product.backend_names):
            return NotImplemented
        columns = jnp.moveaxis(x, axes[-1], 1)
        wide = jax.ShapeDtypeStruct((outs.shape[0], columns.shape[1]), outs.dtype)
        return product(*matrix_of(*matrix), columns, outs=wide, transpose=transpose, **params), 1

    return rule


def product_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(data, indices, indptr, x)`, a CSR matrix times a vector or matrix.

    The cotangent of x is the product the other way; that of data is sampled from ct times x (SDDMM).
    """

    def rule(
        ct: Any, data: Any, indices: Any, indptr: Any, x: Any, *, outs: Any, transpose: bool, **params: Any
    ) -> list[Any]:
        if ad.is_undefined_primal(x):
            back = jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
            ct_x = kernel(data, indices, indptr, ct, outs=back, transpose=not transpose, **params)
            return [None, None, None, ct_x]
        if data.aval.ndim == 0:
            one = jnp.ones((), ct.dtype)
            sums = kernel(one, indices, indptr, x, outs=outs, transpose=transpose, **params)
            return [of_one_weight(ct, sums), None, None, None]
        by_row, by_column = (x, ct) if transpose else (ct, x)
        back = jax.ShapeDtypeStruct(data.aval.shape, data.aval.dtype)
        ct_data = get_operator("csr_sddmm")(indices, indptr, by_row, by_column, outs=back, **params)
        return [ct_data, None, None, None]

    return rule


def ell_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(data, indices, x)`, an ELLPACK matrix times a vector."""

    def rule(
        ct: Any, data: Any, indices: Any, x: Any, *, outs: Any, shape: Any, transpose: bool, **params: Any
    ) -> list[Any]:
        params["shape"] = shape
        if ad.is_undefined_primal(x):
            back = jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
            return [None, None, kernel(data, indices, ct, outs=back, transpose=not transpose, **params)]
        if data.aval.ndim == 0:
            one = jnp.ones((), ct.dtype)
            sums = kernel(one, indices, x, outs=outs, transpose=transpose, **params)
            return [of_one_weight(ct, sums), None, None]
        by_row, by_column = (x, ct) if transpose else (ct, x)
        return [_samples(jnp.asarray(by_row)[:, None], jnp.asarray(by_column), indices, shape[1]), None, None]

    return rule


def _samples(rows: jax.Array, by_column: jax.Array, indices: jax.Array, columns: int) -> jax.Array:
    """Return the factor of each entry's weight; bools select, so that False hides even infinity."""
    at = values_at(by_column, indices)
    if rows.dtype == bool:
        terms = jnp.where(rows, at, 0)
    elif at.dtype == bool:
        terms = jnp.where(at, rows, 0)
    else:
        terms = rows * at
    return jnp.where(inside(indices, columns) < columns, terms, 0)


def procedural_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(weight, seed, x)`, a generated matrix times a vector.

    The cotangent of x is the product the other way; that of each parameter is `ct` times the product with
    the matrix that has this parameter 1 and the others 0.
    """

    def rule(
        ct: Any, weight: Any, seed: Any, x: Any, *, outs: Any, transpose: bool, **params: Any
    ) -> list[Any]:
        if ad.is_undefined_primal(x):
            back = jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
            return [None, None, kernel(weight, seed, ct, outs=back, transpose=not transpose, **params)]

        def along(unit: Any) -> Any:
            sums = kernel(unit, seed, x, outs=outs, transpose=transpose, **params)
            return of_one_weight(ct, sums)

        if weight.aval.ndim == 0:
            return [along(jnp.ones((), ct.dtype)), None, None]
        return [jax.vmap(along)(jnp.eye(weight.aval.size, dtype=ct.dtype)), None, None]

    return rule
