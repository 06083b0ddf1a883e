"""The operator `ell_event_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import NONDETERMINISTIC_ON_GPU, define_backends
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOAT_WEIGHTS, FLOATS, as_array, summed_in
from event_ops.checks.csr import check_ell, check_events, check_operand, event_weights, matrix_shape
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import ell_as_csr
from event_ops.rules.linear_inputs import tangent_in
from event_ops.rules.products import ell_transpose, fold_into
from ffi_bridge import XLACustomKernel


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
    indices, events = map(as_array, (indices, events))
    data = event_weights(data, indices, events.dtype if events.dtype in FLOATS else float)
    shape = matrix_shape(shape)
    check_ell(data, indices, shape, FLOAT_WEIGHTS)
    check_operand("events", events, shape, transpose)
    check_events("events", events, data)
    outs = jax.ShapeDtypeStruct((shape[1] if transpose else shape[0],), summed_in(data))
    static = {"shape": shape, "transpose": bool(transpose), "deterministic": bool(deterministic)}
    return kernel(data, indices, events, outs=outs, backend=backend, **static)


kernel = XLACustomKernel("ell_event_matvec")
kernel.def_tags("sparse", "event-driven")
define_backends(kernel, family="ell_products", lacks_on_gpu=NONDETERMINISTIC_ON_GPU)
kernel.def_jvp_rule2(tangent_in(kernel, 0), None, tangent_in(kernel, 2))  # data, events
kernel.def_transpose_rule(ell_transpose(kernel))
kernel.def_batching_rule(fold_into(kernel, "csr_event_matmat", transposed=False, matrix_of=ell_as_csr))
