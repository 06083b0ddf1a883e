"""The transpose rule of products with a matrix of words: linear in its scale and in their operand."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from event_ops.kernels.reference.entries import one_each
from event_ops.kernels.reference.packed_entries import scaled
from event_ops.rules.linear_inputs import of_one_weight
from ffi_bridge import XLACustomKernel


def product_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """Return the transpose rule of `kernel(entries, indptr, scale, x)`.

    The cotangent of x is the product the other way. With C for the matrix of codes, y = scale * (C @ x), or
    y = C.T @ (scale * x): so that of a scale for each row is ct * (C @ x), or x * (C @ ct).
    """

    def rule(
        ct: Any,
        entries: Any,
        indptr: Any,
        scale: Any,
        x: Any,
        *,
        outs: Any,
        shape: tuple[int, int],
        transpose: bool,
        **params: Any,
    ) -> list[Any]:
        params["shape"] = shape
        if ad.is_undefined_primal(x):
            back = jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype)
            ct_x = kernel(entries, indptr, scale, ct, outs=back, transpose=not transpose, **params)
            return [None, None, None, ct_x]
        one = jnp.ones((), ct.dtype)
        if scale.aval.ndim == 0:
            sums = kernel(entries, indptr, one, x, outs=outs, transpose=transpose, **params)
            return [None, None, of_one_weight(ct, sums), None]
        by_row = jax.ShapeDtypeStruct(scale.aval.shape, ct.dtype)
        if transpose:
            factors = one_each(x, shape[0], ct.dtype).astype(ct.dtype)
            sums = kernel(entries, indptr, one, ct, outs=by_row, transpose=False, **params)
            return [None, None, _product(sums, factors), None]
        sums = kernel(entries, indptr, one, x, outs=by_row, transpose=False, **params)
        return [None, None, _product(ct, sums), None]

    return rule


@jax.custom_jvp
def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return a * b, and exactly 0 where either is 0, even if one is NaN; with the derivatives of a * b."""
    return jnp.where((a != 0) & (b != 0), a * b, 0)


@_product.defjvp
def _product_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    (a, b), (a_dot, b_dot) = primals, tangents
    return _product(a, b), scaled(a_dot, b) + scaled(b_dot, a)
