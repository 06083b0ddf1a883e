"""The operator `stdp_on_post`: its checks; a rule of plasticity has the backends."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.catalog import FAMILIES
from event_ops.checks import contracts
from event_ops.checks.arrays import as_array
from event_ops.checks.csr import check_transpose, matrix_shape
from event_ops.checks.values import contract
from event_ops.kernels.reference.plasticity import bounded, check_trace, check_weights, rate_and_bounds
from event_ops.plasticity.apply_rule import apply_rule, define_rule_kernel
from event_ops.plasticity.emit import COLUMNS


@contract(rows=contracts.rows, indptr=contracts.ends_of("rows"), permutation=contracts.permutation_of("w"))
def stdp_on_post(
    w: ArrayLike,
    rows: ArrayLike,
    indptr: ArrayLike,
    permutation: ArrayLike,
    spikes_post: ArrayLike,
    x_pre: ArrayLike,
    *,
    shape: tuple[int, int],
    A_plus: ArrayLike,
    w_min: ArrayLike,
    w_max: ArrayLike,
    backend: str | None = None,
) -> jax.Array:
    """`w[i, j] = clip(w[i, j] + A_plus * x_pre[i], w_min, w_max)` for every j that spikes: potentiation.

    Pair-based STDP at postsynaptic spikes, on the same weights, in the same order, as `stdp_on_pre`. The
    columns are found through the structure of the transpose, `rows, indptr, permutation` as `csr_tocsc`
    gives them, so that here, too, the cost follows the number of spikes, and w is updated in place where it
    is not needed again. A float spike multiplies the change by its value. Weights of silent columns stay as
    they are, bit for bit and also where they are out of bounds, as do entries whose row or permutation is
    out of range.
    Differentiable in w, float spikes (at silent ones, too), x_pre, A_plus and the bounds; a weight that is
    clipped follows its bound alone. A silent bool spike hides what is NaN or infinite, a cotangent or
    x_pre, from all derivatives; of a float one the change is a product, and 0 times NaN is NaN.

    Args:
        w: (nse,), the weights, ordered by row; float32 or float64.
        rows: (nse,), the row of each entry, ordered by column; int32, int64 or unsigned.
        indptr: (columns + 1,), non-decreasing: column j is the entries from indptr[j] up to indptr[j + 1].
        permutation: (nse,), where in w each of these entries is: each place once; an integer dtype as rows.
        spikes_post: (columns,); bool, or dtype of w.
        x_pre: (rows,), the presynaptic traces; dtype of w.
        shape: (rows, columns) of the matrix, static; not of the transpose.
        A_plus: a number, 0-d or (nse,), >= 0, potentiation per unit of trace, in the unit of w.
        w_min: a number, 0-d or (nse,), lowest weight; -inf for none.
        w_max: a number, 0-d or (nse,), highest weight, >= w_min; inf for none.
        backend: run on this one or not at all; default: choose.

    Returns:
        w: shape and dtype of w.

    Raises:
        TypeError: a dtype that is not taken, or that is not the one of w.
        ValueError: a shape that does not fit, or A_plus < 0 or w_min > w_max where their values are known
            when traced.

    Source: Morrison, Diesmann and Gerstner (2008), Biol. Cybern. 98, 459-478 (all-to-all pairs through
    traces); Song, Miller and Abbott (2000), Nat. Neurosci. 3, 919-926 (hard bounds).
    """
    w, rows, indptr, permutation = map(as_array, (w, rows, indptr, permutation))
    spikes_post, x_pre = as_array(spikes_post), as_array(x_pre)
    shape = matrix_shape(shape)
    check_weights(w, "rows", rows)
    check_transpose(rows, indptr, permutation, shape)
    check_trace("x_pre", x_pre, w, shape[0], f"row of shape={shape}")
    rate, low, high = rate_and_bounds(w, "A_plus", A_plus, w_min, w_max)
    variables = {"x_pre": x_pre, "A_plus": rate, "w_min": low, "w_max": high}
    structure = rows, indptr, permutation
    return apply_rule(
        COLUMNS, of_synapse, w, structure, spikes_post, w.shape, shape, 1, variables, backend, kernel
    )


def of_synapse(w: Any, *, x_pre: Any, A_plus: Any, w_min: Any, w_max: Any, spike_post: Any = 1) -> Any:
    """Return w + A_plus * spike_post * x_pre, within the bounds."""
    return bounded(w + A_plus * spike_post * x_pre, w_min, w_max)


kernel = define_rule_kernel("stdp_on_post")
FAMILIES[kernel.name] = "stdp"
