"""Products with a Bernoulli random matrix in Warp: a thread generates a row, for all columns."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference.bernoulli import GAP_BITS, NO_ENTRY, gap_table
from event_ops.kernels.warp.access import Array, Array2d, is_active
from event_ops.kernels.warp.random_numbers import chosen, philox2x32, random_functions
from event_ops.kernels.warp.scatter import sums_of

_GAP_BITS, _NO_ENTRY = wp.constant(wp.uint32(GAP_BITS)), wp.constant(wp.uint32(NO_ENTRY))


@cache
def make_kernel(distribution: str) -> Any:
    """Return the kernel for weights of a distribution, `add_rows(weight, seed, table, x, ..., y)`."""
    weight_of = random_functions.weights[distribution]

    @wp.kernel(enable_backward=False, module="unique")
    def add_rows(
        weight: Array, seed: wp.array(dtype=wp.uint32), table: wp.array(dtype=wp.uint32),
        x: Array2d, of_events: bool, transpose: bool, y: Array2d,
    ):  # fmt: skip
        i = wp.tid()
        row, draw = wp.uint32(i), wp.uint32(0)
        column, columns = wp.uint32(0), wp.uint32(wp.where(transpose, y.shape[0], x.shape[0]))
        if transpose and of_events:  # a row without an active event is not generated
            active = wp.int32(0)
            for c in range(x.shape[1]):
                if is_active(x[i, c]):
                    active += 1
            if active == 0:
                columns = wp.uint32(0)
        while column < columns:
            choice, word = philox2x32(draw, row, seed[0])
            gap = chosen(table, wp.uint32(0), wp.uint32(choice), _GAP_BITS)
            column += gap
            draw += wp.uint32(1)
            if gap != _NO_ENTRY and column < columns:
                j = wp.int32(column)
                source = wp.where(transpose, i, j)
                entry = weight_of(weight, seed[0], row, column, word)
                for c in range(y.shape[1]):
                    # A number of 0 counts, too: its weight may be NaN.
                    if not of_events or is_active(x[source, c]):
                        term = entry * y.dtype(x[source, c])
                        if transpose:
                            wp.atomic_add(y, j, c, term)
                        else:  # no other thread adds to row i
                            y[i, c] = y[i, c] + term
                column += wp.uint32(1)

    return add_rows


def product(
    of_events: bool,
    *,
    outs: Any,
    prob: float,
    shape: tuple[int, int],
    distribution: str,
    transpose: bool,
    **_: Any,
) -> Callable[..., Any]:
    """Return the call `(weight, seed, x) -> y` for one matrix and orientation; a vector is one column."""
    size, columns = outs.shape[0], outs.shape[1] if len(outs.shape) == 2 else 1
    wide = jax.ShapeDtypeStruct((size, columns), outs.dtype)
    run = sums_of(make_kernel(distribution), wide, shape[0])

    def call(weight: Any, seed: Any, x: Any) -> Any:
        table = jnp.asarray(gap_table(prob))
        x = x.reshape(x.shape[0], columns)
        return run(weight, seed, table, x, of_events, transpose).reshape(outs.shape)

    return call


procedural_matvec = procedural_matmat = partial(product, False)
procedural_event_matvec = procedural_event_matmat = partial(product, True)
