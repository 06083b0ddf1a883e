"""The operator `stdp_on_pre`: its checks; a rule of plasticity has the backends."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.catalog import FAMILIES
from event_ops.checks import contracts
from event_ops.checks.arrays import as_array
from event_ops.checks.csr import check_structure, matrix_shape
from event_ops.checks.values import contract
from event_ops.kernels.reference.plasticity import bounded, check_trace, check_weights, rate_and_bounds
from event_ops.plasticity.apply_rule import apply_rule, define_rule_kernel
from event_ops.plasticity.emit import ROWS


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def stdp_on_pre(
    w: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    spikes_pre: ArrayLike,
    x_post: ArrayLike,
    *,
    shape: tuple[int, int],
    A_minus: ArrayLike,
    w_min: ArrayLike,
    w_max: ArrayLike,
    backend: str | None = None,
) -> jax.Array:
    """`w[i, j] = clip(w[i, j] - A_minus * x_post[j], w_min, w_max)` for every i that spikes: depression.

    Pair-based STDP at presynaptic spikes, on the weights of a CSR matrix whose rows are presynaptic neurons.
    Only rows of active spikes are looked at, and w is updated in place where it is not needed again, so that
    the cost follows the number of spikes. A float spike multiplies the change by its value. Weights of
    silent rows stay as they are, bit for bit and also where they are out of bounds, as do entries whose
    column is not in [0, columns). To have x_post without the spikes of this step, or with them, is up to the
    order of calls: pass the trace before or after `trace_decay` has added them.
    Differentiable in w, float spikes (at silent ones, too), x_post, A_minus and the bounds; a weight that is
    clipped follows its bound alone. A silent bool spike hides what is NaN or infinite, a cotangent or
    x_post, from all derivatives; of a float one the change is a product, and 0 times NaN is NaN.

    Args:
        w: (nse,), the weights; float32 or float64.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        spikes_pre: (rows,); bool, or dtype of w.
        x_post: (columns,), the postsynaptic traces; dtype of w.
        shape: (rows, columns) of the matrix, static.
        A_minus: a number, 0-d or (nse,), >= 0, depression per unit of trace, in the unit of w.
        w_min: a number, 0-d or (nse,), lowest weight; -inf for none.
        w_max: a number, 0-d or (nse,), highest weight, >= w_min; inf for none.
        backend: run on this one or not at all; default: choose.

    Returns:
        w: shape and dtype of w.

    Raises:
        TypeError: a dtype that is not taken, or that is not the one of w.
        ValueError: a shape that does not fit, or A_minus < 0 or w_min > w_max where their values are known
            when traced.

    Source: Morrison, Diesmann and Gerstner (2008), Biol. Cybern. 98, 459-478 (all-to-all pairs through
    traces); Song, Miller and Abbott (2000), Nat. Neurosci. 3, 919-926 (hard bounds).
    """
    w, indices, indptr, spikes_pre, x_post = map(as_array, (w, indices, indptr, spikes_pre, x_post))
    shape = matrix_shape(shape)
    check_weights(w, "indices", indices)
    check_structure(indices, indptr, shape)
    check_trace("x_post", x_post, w, shape[1], f"column of shape={shape}")
    rate, low, high = rate_and_bounds(w, "A_minus", A_minus, w_min, w_max)
    variables = {"x_post": x_post, "A_minus": rate, "w_min": low, "w_max": high}
    return apply_rule(
        ROWS, of_synapse, w, (indices, indptr), spikes_pre, w.shape, shape, 0, variables, backend, kernel
    )


def of_synapse(w: Any, *, x_post: Any, A_minus: Any, w_min: Any, w_max: Any, spike_pre: Any = 1) -> Any:
    """Return w - A_minus * spike_pre * x_post, within the bounds."""
    return bounded(w - A_minus * spike_pre * x_post, w_min, w_max)


kernel = define_rule_kernel("stdp_on_pre")
FAMILIES[kernel.name] = "stdp"
