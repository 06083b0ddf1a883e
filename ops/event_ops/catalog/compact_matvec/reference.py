"""`compact_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from event_ops.kernels.reference.packed_entries import by_parts, product, transposed_product


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `compact_matvec` for one orientation."""
    of_part = partial(transposed_product if transpose else product, dtype=outs.dtype)
    return by_parts(of_part, shape, transpose)
