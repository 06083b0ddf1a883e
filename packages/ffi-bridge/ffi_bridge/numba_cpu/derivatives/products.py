"""Products in which nothing times infinity is nothing, as in the derivatives that Enzyme makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ffi_bridge.native.sharding import align_varying, output_type
from ffi_bridge.native.vmap_axes import add_level


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return x y, and 0 where x or y is 0; of arrays of one shape and dtype. Linear in x and in y."""
    return _product_p.bind(*align_varying([x, y]))


def _value(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where((x == 0) | (y == 0), 0, x * y)


def _abstract(x: Any, y: Any) -> Any:
    return output_type(x.shape, x.dtype, [x, y])


def _batch(operands: Sequence[jax.Array], axes: Sequence[int | None]) -> tuple[jax.Array, int]:
    moved, level = add_level(operands, axes)
    x, y = (
        x if has else jnp.broadcast_to(x, (level.size, *x.shape))
        for x, has in zip(moved, level.mapped, strict=True)
    )
    return product(x, y), 0


_product_p: Final = Primitive("product_with_strong_zeros")
_product_p.def_impl(jax.jit(_value))
_product_p.def_abstract_eval(_abstract)
mlir.register_lowering(_product_p, mlir.lower_fun(_value, multiple_results=False))
batching.primitive_batchers[_product_p] = _batch
ad.defbilinear(_product_p, lambda z, x, y: product(z, y), lambda z, x, y: product(x, z))
