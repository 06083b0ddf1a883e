"""Batching rules of products: a `jax.vmap` over the vectors of one matrix is its product with a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ffi_bridge import XLACustomKernel, get_operator


def fold_into(kernel: XLACustomKernel, matmat: str, *, transposed: bool) -> Callable[..., tuple[Any, int]]:
    """The batching rule of `kernel(data, indices, indptr, x)`: one call of `matmat` where only x is mapped.

    Entries are read once for the whole batch then, forward and in derivatives. Everything else is batched
    as if there were no rule, and so is transpose=True unless `transposed`.
    """

    def rule(
        args: tuple[Any, ...], axes: tuple[Any, ...], *, outs: Any, transpose: bool, **params: Any
    ) -> tuple[Any, int]:
        *matrix, x = args
        product, backend = get_operator(matmat), params["backend"]
        foldable = axes[:3] == (None, None, None) and (transposed or not transpose)
        if not foldable or backend not in (None, *product.backend_names):
            return NotImplemented
        columns = jnp.moveaxis(x, axes[3], 1)
        wide = jax.ShapeDtypeStruct((outs.shape[0], columns.shape[1]), outs.dtype)
        return product(*matrix, columns, outs=wide, transpose=transpose, **params), 1

    return rule
