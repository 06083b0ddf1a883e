"""Derivative and batching rules of products with a matrix: CSR, ELLPACK, dense or generated."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import chosen_product, sums_at, values_at
from event_ops.rules.linear_inputs import of_one_weight
from ffi_bridge import XLACustomKernel, get_operator


def fold_into(
    kernel: XLACustomKernel,
    matmat: str,
    *,
    transposed: bool,
    matrix_of: Callable[..., tuple[Any, ...]] = lambda *matrix: matrix,
    operand: int = -1,
) -> Callable[..., tuple[Any, int]]:
    """Return the batching rule of `kernel(*matrix, x)`: one `matmat` if only x is mapped.

    Entries are then read once for the whole batch, also in derivatives. Everything else is batched as if
    there were no rule, and so is transpose=True unless `transposed`. `matrix_of` makes the arguments of
    matmat that stand for the matrix of those of the kernel. `operand` is the position of x.
    """

    def rule(
        args: tuple[Any, ...], axes: tuple[Any, ...], *, outs: Any, transpose: bool, **params: Any
    ) -> tuple[Any, int]:
        place = operand % len(args)
        matrix, x, more = args[:place], args[place], args[place + 1 :]
        product, backend = get_operator(matmat), params["backend"]
        fixed = all(axis is None for i, axis in enumerate(axes) if i != place)
        foldable = fixed and (transposed or not transpose)
        if not foldable or backend not in (None, *product.backend_names):
            return NotImplemented
        columns = jnp.moveaxis(x, axes[place], 1)
        wide = jax.ShapeDtypeStruct((outs.shape[0], columns.shape[1]), outs.dtype)
        return product(*matrix_of(*matrix), columns, *more, outs=wide, transpose=transpose, **params), 1

    return rule


def product_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(data, indices, indptr, x)`, a CSR matrix times a vector or matrix.

    The cotangent of x is the product the other way; that of data is sampled from ct times x (SDDMM), and goes
    to the place of each weight if a `permutation` comes after x.
    """

    def sampled(*ends: Any, **params: Any) -> jax.Array:
        return get_operator("csr_sddmm")(*ends, **params)

    return _transpose_of_entries(kernel, 2, sampled)


def ell_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(data, indices, x)`, an ELLPACK matrix times a vector."""

    def sampled(indices: Any, by_row: Any, by_column: Any, shape: Any, **_: Any) -> jax.Array:
        terms = chosen_product(jnp.asarray(by_row)[:, None], values_at(jnp.asarray(by_column), indices))
        return jnp.where(is_inside(indices, shape[1]), terms, 0)

    return _transpose_of_entries(kernel, 1, sampled)


def _transpose_of_entries(
    kernel: XLACustomKernel, count: int, sampled: Callable[..., jax.Array]
) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(data, *structure, x, *permutation)`.

    `count` arrays are the structure. `sampled(*structure, by_row, by_column, outs=, shape=)` multiplies what
    both ends of each entry have.
    """

    def rule(ct: Any, data: Any, *inputs: Any, outs: Any, transpose: bool, **params: Any) -> list[Any]:
        structure, x, permutation = inputs[:count], inputs[count], inputs[count + 1 :]
        before, more = [None] * count, [None] * len(permutation)
        if ad.is_undefined_primal(x):
            back = jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
            operands = data, *structure, ct, *permutation
            ct_x = kernel(*operands, outs=back, transpose=not transpose, **params)
            return [None, *before, ct_x, *more]
        if data.aval.ndim == 0:
            one = jnp.ones((), ct.dtype)
            sums = kernel(one, *structure, x, outs=outs, transpose=transpose, **params)
            return [of_one_weight(ct, sums).astype(data.aval.dtype), *before, None, *more]
        by_row, by_column = (x, ct) if transpose else (ct, x)
        back = jax.ShapeDtypeStruct(data.aval.shape, ct.dtype)
        terms = sampled(*structure, by_row, by_column, outs=back, **params)
        return [by_place(terms, *permutation).astype(data.aval.dtype), *before, None, *more]

    return rule


def by_place(terms: jax.Array, *permutation: jax.Array) -> jax.Array:
    """Return the sum of the terms of the entries that have the weight at each place."""
    return sums_at(terms, permutation[0], terms.shape[0]) if permutation else terms


def dense_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(weights, events)`, a dense matrix times a vector or matrix.

    The cotangent of the events is the product the other way; that of a weight is the term of its event. For
    bools it is 0 where the event is inactive, whatever the cotangent is. Nothing is hidden where a number is
    0: there, too, the product has a derivative in the event.
    """

    def rule(ct: Any, weights: Any, events: Any, *, outs: Any, transpose: bool, **params: Any) -> list[Any]:
        if ad.is_undefined_primal(events):
            back = jax.ShapeDtypeStruct(events.aval.shape, events.aval.dtype)
            return [None, kernel(weights, ct, outs=back, transpose=not transpose, **params)]
        if events.ndim == 1:
            along, across = events[None, :], ct[:, None]
            terms = jnp.where(along, across, 0) if events.dtype == bool else along * across
        elif events.dtype == bool:
            # As events they hide what is not finite, which in a dense product would make NaN of 0.
            back = jax.ShapeDtypeStruct((ct.shape[0], events.shape[0]), ct.dtype)
            terms = kernel(ct, events.T, outs=back, transpose=False, **params)
        else:
            # By default a GPU may multiply in fewer bits than float32 has.
            terms = jnp.matmul(ct, events.T, precision=jax.lax.Precision.HIGHEST)
        return [(terms.T if transpose else terms).astype(weights.aval.dtype), None]

    return rule


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
