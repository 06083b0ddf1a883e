"""STDP at postsynaptic spikes in Warp: one thread per column, on the weights themselves."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.parts.warp.access import Array, at, bounded, bounded_weight, is_active, place
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def move_columns(
    w: Array, rows: Array, indptr: Array, permutation: Array, spikes_post: Array, x_pre: Array,
    amount: Array, w_min: Array, w_max: Array,
):  # fmt: skip
    j = wp.tid()
    nse = rows.shape[0]
    if is_active(spikes_post[j]):
        spike = w.dtype(spikes_post[j])
        for p in range(bounded(indptr[j], nse), bounded(indptr[j + 1], nse)):
            i, k = place(rows[p], x_pre.shape[0]), place(permutation[p], nse)
            if i >= 0 and k >= 0:
                step = at(amount, k) * spike
                w[k] = bounded_weight(w[k] + step * x_pre[i], at(w_min, k), at(w_max, k))


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; amount is A_plus."""

    def call(w: Any, rows: Any, indptr: Any, permutation: Any, spikes_post: Any, *others: Any) -> Any:
        run = warp_kernel(move_columns, outs, launch_dims=spikes_post.shape, in_out_argnames=["w"])
        return run(w, rows, indptr, permutation, spikes_post, *others)

    return call
