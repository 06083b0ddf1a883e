"""A pass in Warp: a thread for each row and feature."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp

from event_ops.codegen.emit import array_names, defined, tables_of
from event_ops.codegen.primitives import WARP
from event_ops.kernels.warp.access import Array, Array2d, as_vectors, bounded, place
from event_ops.messages.emit import parameters
from event_ops.messages.passes import Pass
from event_ops.messages.threads import by_kind, thread_lines
from event_ops.messages.visits import along_columns
from ffi_bridge import warp_kernel

_KEPT = 1024  # passes


@lru_cache(_KEPT)
def kernel(of: Pass, dtype: str) -> Any:
    """Return the kernel of a pass whose results go to one kind of places."""
    lines = thread_lines(of, WARP, dtype, "wp.int32")
    matrices = {*array_names(of.message), *(f"y{k}" for k in range(len(of.results)))}
    typed = [f"{name}: {'Array2d' if name in matrices else 'Array'}" for name in parameters(of)]
    called = {"wp": wp, "Array": Array, "Array2d": Array2d, "bounded": bounded, "place": place}
    called |= as_vectors(tables_of(of.message))
    function = defined("gspmm", typed, ["thread = wp.tid()", *lines], **called)
    # As in `neurons/warp.py`.
    return wp.kernel(function, enable_backward=False, module="unique")


@along_columns
def build(*, of: Pass, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""
    structure_count, dtype = of.structure[0], str(outs[0].dtype)

    def call(*arrays: Any) -> Any:
        structure, inputs = of.divided(arrays)
        inputs = *structure[:structure_count], np.asarray([of.shape[1]], np.int32), *inputs
        results: dict[int, jax.Array] = {}
        for kind, numbers in by_kind(of):
            shapes = tuple(outs[k] for k in numbers)
            names = [f"y{k}" for k in range(len(numbers))]
            run = warp_kernel(
                kernel(kind, dtype),
                shapes,
                launch_dims=of.shape[0] * of.width(kind.results[0].axes),
                in_out_argnames=names,
            )
            # Entries that are out of range have no thread that writes them.
            results |= zip(numbers, run(*inputs, *(jnp.zeros(x.shape, x.dtype) for x in shapes)), strict=True)
        return tuple(results[k] for k in range(len(outs)))

    return call
