"""STDP at presynaptic spikes in Warp: one thread per row, on the weights themselves."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.parts.warp.access import Array, at, bounded, bounded_weight, is_active, place
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def move_rows(
    w: Array, indices: Array, indptr: Array, spikes_pre: Array, x_post: Array, amount: Array, w_min: Array,
    w_max: Array,
):  # fmt: skip
    i = wp.tid()
    nse = indices.shape[0]
    if is_active(spikes_pre[i]):
        spike = w.dtype(spikes_pre[i])
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(indices[k], x_post.shape[0])
            if j >= 0:
                step = at(amount, k) * spike
                w[k] = bounded_weight(w[k] + step * x_post[j], at(w_min, k), at(w_max, k))


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; amount is -A_minus."""

    def call(w: Any, indices: Any, indptr: Any, spikes_pre: Any, *others: Any) -> Any:
        run = warp_kernel(move_rows, outs, launch_dims=spikes_pre.shape, in_out_argnames=["w"])
        return run(w, indices, indptr, spikes_pre, *others)

    return call
