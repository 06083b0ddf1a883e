"""The transpose rule of products with a generated matrix, linear in the weights and in the operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from event_ops.rules.linear import of_one_weight
from ffi_bridge import XLACustomKernel


def procedural_transpose(kernel: XLACustomKernel) -> Callable[..., list[Any]]:
    """The transpose rule of `kernel(weight, seed, x)`.

    The cotangent of x is the product the other way; that of each parameter, `ct` times the product with the
    matrix that has this parameter 1 and the others 0.
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
