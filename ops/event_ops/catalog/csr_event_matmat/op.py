"""The operator `csr_event_matmat`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.products import Factor, csr_product
from event_ops.checks.values import contract
from event_ops.rules.products import product_transpose


@contract(
    indices=contracts.columns,
    indptr=contracts.ends_of("indices"),
    permutation=contracts.permutation_of("indices"),
)
def csr_event_matmat(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    events: ArrayLike,
    permutation: ArrayLike | None = None,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`Y = A @ events`, or `Y = A.T @ events`, for a matrix of events: a column per trial, say, or time step.

    Active are bools that are True, which count as 1, and floats that are not zero, which count as their
    value. An inactive event contributes exactly 0, even where its weight is NaN or infinite. With
    transpose=True (rows are presynaptic neurons) the cost follows the number of active events, after one pass
    over events and Y; without it every entry is looked at. An entry whose column is not in [0, columns)
    contributes nothing. Differentiable in data and in float events, at inactive ones too: the product is
    linear in an event's value. What a cotangent of NaN does is as in `csr_event_matvec`.

    Args:
        data: (nse,), the weights; float32, float64, float16 or bfloat16. Or one weight for all
            entries: 0-d, (1,) or a number.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        events: (columns, n), or (rows, n) with transpose=True; bool, or the dtype of Y.
        permutation: (nse,), where in data the weight of each entry is, each place once: entry k has weight
            data[permutation[k]], and weight 0 if that is out of range; int32, int64 or unsigned. Default: k.
        shape: (rows, columns) of A, static; not of the transpose.
        transpose: multiply with A.T.
        deterministic: the same bits at every call, also on a GPU: a transposed product then costs a sort of
            all entries there, not only those of active events.
        backend: run on this one or not at all; default: choose.

    Returns:
        Y: (rows, n), or (columns, n) with transpose=True; dtype of data, or float32 if that has
            16 bits; the sums' order is open unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than Y.
        ValueError: a shape that does not fit `shape`.
    """
    factor = Factor("events", events, rank=2, are_events=True)
    return csr_product(
        kernel, data, indices, indptr, factor, shape, transpose, deterministic, backend, permutation
    )


kernel = define_operator(
    "csr_event_matmat", "sparse event-driven", family="csr_products", linear=(0, 3), has_atomics=True
)
kernel.def_transpose_rule(product_transpose(kernel))
