"""The operator `dense_event_matmat`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import NONDETERMINISTIC_ON_GPU, define_backends
from event_ops.checks.arrays import FLOAT_WEIGHTS, as_array, check_dtype, check_rank, summed_in
from event_ops.checks.csr import check_events, check_operand
from event_ops.rules.linear_inputs import tangent_in
from event_ops.rules.products import dense_transpose
from ffi_bridge import XLACustomKernel


def dense_event_matmat(
    weights: ArrayLike,
    events: ArrayLike,
    *,
    transpose: bool = False,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`Y = W @ events`, or `Y = W.T @ events`, over active events: bools that are True, floats not zero.

    Each column of `events` is a vector of events as `dense_event_matvec` takes it; `vmap` over such vectors
    becomes this. An active bool event counts as 1, a float one as its value. An inactive event contributes
    exactly 0, even where its weight is NaN or infinite. With transpose=True (rows are presynaptic neurons)
    the weights of an event lie side by side, which is the faster layout. Differentiable in weights and in
    float events, at inactive ones too.

    Args:
        weights: (rows, columns); float32, float64, float16 or bfloat16.
        events: (columns, n), or (rows, n) with transpose=True; bool, or the dtype of Y.
        transpose: multiply with W.T.
        deterministic: the same bits at every call, also on a GPU: a sum is not split between blocks there.
        backend: run on this one or not at all; default: choose.

    Returns:
        Y: (rows, n), or (columns, n) with transpose=True; dtype of weights, or float32 if that has
            16 bits; the sums' order is open unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than Y.
        ValueError: weights or events is not 2-d, or events does not fit weights.
    """
    weights, events = as_array(weights), as_array(events)
    check_dtype("weights", weights, FLOAT_WEIGHTS)
    check_rank("weights", weights, 2, "(rows, columns)")
    check_operand("events", events, (weights.shape[0], weights.shape[1]), transpose, rank=2)
    check_events("events", events, weights)
    outs = jax.ShapeDtypeStruct((weights.shape[1 if transpose else 0], events.shape[1]), summed_in(weights))
    static = {"transpose": bool(transpose), "deterministic": bool(deterministic)}
    return kernel(weights, events, outs=outs, backend=backend, **static)


kernel = XLACustomKernel("dense_event_matmat")
kernel.def_tags("dense", "event-driven")
define_backends(
    kernel,
    "reference",
    "numba_cpu",
    "numba_cuda",
    "warp",
    family="dense_products",
    lacks_on_gpu=NONDETERMINISTIC_ON_GPU,
)
kernel.def_jvp_rule2(tangent_in(kernel, 0), tangent_in(kernel, 1))
kernel.def_transpose_rule(dense_transpose(kernel))
