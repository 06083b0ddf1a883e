"""Derivative rules of operators that are linear in an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ffi_bridge import XLACustomKernel, get_operator


def tangent_in(kernel: XLACustomKernel, position: int) -> Callable[..., Any]:
    """The rule `dy = kernel(..., dx, ...)`: the operator itself, with the tangent as input `position`."""

    def rule(tangent: Any, *primals: Any, **params: Any) -> Any:
        return kernel(*primals[:position], tangent, *primals[position + 1 :], **params)

    return rule


def of_one_weight(ct: jax.Array, sums: jax.Array) -> jax.Array:
    """The cotangent of a weight that is one for all, from what it is multiplied with in each output.

    A cotangent that is NaN or infinite does not count where nothing arrives.
    """
    return jnp.vdot(jnp.where((sums != 0) | jnp.isfinite(ct), ct, 0), sums)


def product_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """The transpose rule of `kernel(data, indices, indptr, x)`, a CSR matrix times a vector or a matrix x.

    The cotangent of x is the product the other way; that of data, the products that its entries sample.
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
