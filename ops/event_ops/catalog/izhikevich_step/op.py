"""The operator `izhikevich_step`: its checks, and its definition, the step of one neuron."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.checks.neuron import check_method, current_per_neuron, each_per_neuron
from event_ops.codegen.operators import call_step, define_kernel
from event_ops.kernels.neurons import checked_state
from event_ops.kernels.reference.spiking import Surrogate, at_spike, crossings


def izhikevich_step(
    V_m: ArrayLike,
    U_m: ArrayLike,
    I_syn: ArrayLike,
    *,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    d: ArrayLike,
    dt: ArrayLike,
    V_th: ArrayLike = 30.0,
    jump: ArrayLike = 0.0,
    method: str = "euler",
    surrogate: Surrogate | None = None,
    backend: str | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """One step of `dV/dt = 0.04 * V**2 + 5 * V + 140 - U + I_syn`, `dU/dt = a * (b * V - U)`.

    "euler": V and U move by dt times their slopes at the beginning of the step. "published": V moves twice by
    dt / 2 times its slope, then U by dt times its slope at the new V, as in the program of the source, whose
    dt is 1. Both are of first order in dt. Then V = V + jump, which is how delta synapses act; where V > V_th
    there is a spike, V = c and U = U + d.

    Differentiable in the float arguments; V_m has no derivative through the reset (it is detached). Spikes
    have none either, unless there is a surrogate: then they are floats, whose derivative is
    surrogate(V - V_th) * d(V - V_th), with V before the reset and V - V_th in mV, not normalised. Through the
    spike that it takes, U_m has this derivative too.

    Args:
        V_m: any shape, membrane potential in mV; float32 or float64.
        U_m: shape of V_m, recovery variable in mV/ms; dtype of V_m.
        I_syn: shape of V_m or 0-d, input in mV/ms; dtype of V_m, or a number.
        a: rate of recovery in 1/ms; this and all to jump: a number, 0-d, or shape of V_m.
        b: sensitivity of U_m to V_m in 1/ms.
        c: potential after a spike in mV.
        d: what a spike adds to U_m in mV/ms.
        dt: time step in ms, > 0.
        V_th: peak of a spike, at which V_m is reset, in mV.
        jump: what arrives through delta synapses in mV: added to V_m before it is compared with V_th.
        method: "euler" or "published", static.
        surrogate: pseudo-derivative of the spike, from `event_ops.surrogate`, static; None: bool spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        V_m, U_m: shape and dtype of V_m.
        spikes: shape of V_m; bool, or with a surrogate 0 and 1 in the dtype of V_m.

    Raises:
        TypeError: a dtype that is not taken, or that differs between V_m, U_m and I_syn; a surrogate that is
            not a function.
        ValueError: a shape that does not fit, an unknown method, or dt <= 0 where it is known when traced.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import izhikevich_step
        >>> regular_spiking = {"a": 0.02, "b": 0.2, "c": -65.0, "d": 8.0}
        >>> V_m, U_m = jnp.array([-65.0, 20.0]), jnp.full(2, -13.0)
        >>> V_m, U_m, spikes = izhikevich_step(V_m, U_m, 10.0, **regular_spiking, dt=1.0)
        >>> spikes
        Array([False,  True], dtype=bool)

    Source: Izhikevich (2003), IEEE Trans. Neural Netw. 14, 1569-1572. NEST's ``izhikevich`` agrees to the
        step, "euler" with consistent_integration and "published" without it, except that it spikes where
        V >= V_th, and that, without it, what arrives acts as I_syn and not as a jump.
    """
    check_method(method, ("euler", "published"))
    named_states = {"V_m": V_m, "U_m": U_m}
    states = checked_state(named_states, positive={"dt": dt}, surrogate=surrogate)
    I_syn = current_per_neuron("I_syn", I_syn, states[0])
    variables = each_per_neuron(states[0], I_syn=I_syn, a=a, b=b, c=c, d=d, dt=dt, V_th=V_th, jump=jump)
    return call_step(
        kernel, of_neuron, states, variables, method=method, surrogate=surrogate, backend=backend
    )


def of_neuron(
    V_m: Any, U_m: Any, *, I_syn: Any, a: Any, b: Any, c: Any, d: Any, dt: Any, V_th: Any, jump: Any,
    method: str, surrogate: Surrogate | None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Move V and U, spike above V_th and reset."""
    if method == "euler":
        v = V_m + dt * _slope(V_m, U_m, I_syn)
        u = U_m + dt * a * (b * V_m - U_m)
    else:
        half = V_m + dt / 2 * _slope(V_m, U_m, I_syn)
        v = half + dt / 2 * _slope(half, U_m, I_syn)
        u = U_m + dt * a * (b * v - U_m)
    v = v + jump
    spike = crossings(v, V_th, surrogate)
    return jnp.where(spike.astype(bool), c, v), u + at_spike(spike, d), spike


def _slope(V: Any, U: Any, I_syn: Any) -> Any:
    return (0.04 * V + 5) * V + 140 - U + I_syn


kernel = define_kernel("izhikevich_step", "event_ops.neurons", "neuron", "elementwise")
