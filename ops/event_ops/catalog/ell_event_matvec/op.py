"""The operator `ell_event_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.products import Factor, ell_product
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import ell_as_csr
from event_ops.rules.products import ell_transpose, fold_into


@contract(indices=contracts.columns_or_padding)
def ell_event_matvec(
    data: ArrayLike,
    indices: ArrayLike,
    events: ArrayLike,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ events`, or `y = A.T @ events`, over active events: bools that are True, floats not zero.

    A is an ELLPACK matrix: every row, with transpose=True every presynaptic neuron, has the same number of
    entries. An active bool event counts as 1, a float one as its value. An inactive event contributes exactly
    0, even where its weight is NaN or infinite. With transpose=True the cost follows the number of spikes,
    after one pass over events and y; without it every entry is looked at. An entry whose column is not in
    [0, columns) is padding and contributes nothing. Differentiable in data and in float events, at inactive
    ones too; what a cotangent of NaN does is as in `csr_event_matvec`.

    Args:
        data: (rows, per_row), the weights; float32, float64, float16 or bfloat16. Or one weight for
            all: 0-d, (1,) or a number.
        indices: (rows, per_row), the column of each weight; int32, int64 or unsigned.
        events: (columns,), or (rows,) with transpose=True; bool, or the dtype of y.
        shape: (rows, columns) of A, static; not of the transpose.
        transpose: multiply with A.T.
        deterministic: the same bits at every call, also on a GPU: a transposed product then costs a sort of
            all entries there, not only those of active events.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of data, or float32 if that has 16 bits;
            the sum's order is open unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than y.
        ValueError: a shape that does not fit `shape`.
    """
    factor = Factor("events", events, are_events=True)
    return ell_product(kernel, data, indices, factor, shape, transpose, deterministic, backend)


kernel = define_operator(
    "ell_event_matvec", "sparse event-driven", family="ell_products", linear=(0, 2), has_atomics=True
)
kernel.def_transpose_rule(ell_transpose(kernel))
kernel.def_batching_rule(fold_into(kernel, "csr_event_matmat", transposed=False, matrix_of=ell_as_csr))
