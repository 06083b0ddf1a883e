"""The transpose rule of products with an ELLPACK matrix, linear in the weights and in the operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from event_ops.parts.reference.entries import inside, values_at
from event_ops.rules.linear import of_one_weight
from ffi_bridge import XLACustomKernel


def ell_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """The transpose rule of `kernel(data, indices, x)`."""

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
    """What every entry's weight is multiplied with; bools choose, so that False hides even infinity."""
    at = values_at(by_column, indices)
    if rows.dtype == bool:
        terms = jnp.where(rows, at, 0)
    elif at.dtype == bool:
        terms = jnp.where(at, rows, 0)
    else:
        terms = rows * at
    return jnp.where(inside(indices, columns) < columns, terms, 0)
