"""One step of Izhikevich neurons in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at
from ffi_bridge import warp_kernel


@wp.func
def slope(V: Any, U: Any, I_syn: Any) -> Any:
    """Return dV/dt."""
    return (type(V)(0.04) * V + type(V)(5.0)) * V + type(V)(140.0) - U + I_syn


@wp.func
def fire(
    new: Any, c: Array, d: Array, V_th: Array, jump: Array, V: Array, U: Array, spikes: Array, i: wp.int32
):
    """Write V and spikes of neuron i, which has moved to `new`, and add to U if it spikes."""
    pushed = new + at(jump, i)
    spike = pushed > at(V_th, i)
    V[i] = wp.where(spike, at(c, i), pushed)
    U[i] = wp.where(spike, U[i] + at(d, i), U[i])
    spikes[i] = spikes.dtype(spike)


@wp.kernel(enable_backward=False)
def euler(
    V: Array, U: Array, I_syn: Array, a: Array, b: Array, c: Array, d: Array, dt: Array, V_th: Array,
    jump: Array, spikes: Array,
):  # fmt: skip
    i = wp.tid()
    old = V[i]
    recovery = U[i]
    U[i] = recovery + at(dt, i) * at(a, i) * (at(b, i) * old - recovery)
    fire(old + at(dt, i) * slope(old, recovery, at(I_syn, i)), c, d, V_th, jump, V, U, spikes, i)


@wp.kernel(enable_backward=False)
def published(
    V: Array, U: Array, I_syn: Array, a: Array, b: Array, c: Array, d: Array, dt: Array, V_th: Array,
    jump: Array, spikes: Array,
):  # fmt: skip
    i = wp.tid()
    recovery = U[i]
    half = V.dtype(0.5) * at(dt, i)
    between = V[i] + half * slope(V[i], recovery, at(I_syn, i))
    end = between + half * slope(between, recovery, at(I_syn, i))
    U[i] = recovery + at(dt, i) * at(a, i) * (at(b, i) * end - recovery)
    fire(end, c, d, V_th, jump, V, U, spikes, i)


def build(*, outs: Any, method: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    return warp_kernel(euler if method == "euler" else published, outs, in_out_argnames=["V", "U"])
