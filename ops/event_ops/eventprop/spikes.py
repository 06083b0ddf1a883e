"""`lif` and `leaky_integrator`: from spikes at exact times to spikes and potentials, with derivatives."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.keywords import known_size
from event_ops.eventprop.checks import Synapses, constants, input_spikes, potentials
from event_ops.eventprop.operators import forward


class Spikes(NamedTuple):
    """Spikes of a population in a padded list, sorted by time.

    Attributes:
        times: (capacity,), in ms; inf behind the last spike. NaN, all of them, where `num_spikes` says so.
        ids: (capacity,), int32, the neurons; their number behind the last spike. All in turn where times are
            NaN, so that results of a next layer are NaN, too.
        num_spikes: (), int32, the number of spikes; capacity + 1 where there are more, and -1 where a time, a
            delay or a potential is NaN, a delay between neurons is shorter than dt, or V begins or is reset
            at V_th or above. Where a weight that arrives or a current is infinite, it is one of these two.
    """

    times: jax.Array
    ids: jax.Array
    num_spikes: jax.Array

    def first(self, neurons: int) -> jax.Array:
        """Return the time of the first spike of each neuron, (neurons,); inf for one that is silent."""
        return jnp.full(neurons, jnp.inf, self.times.dtype).at[self.ids].min(self.times, mode="drop")


def lif(
    times: ArrayLike,
    ids: ArrayLike,
    weights: Any,
    recurrent: Any = None,
    *,
    delay: ArrayLike,
    recurrent_delay: ArrayLike | None = None,
    tau_m: float,
    tau_syn: float,
    V_th: ArrayLike = 1.0,
    V_reset: ArrayLike = 0.0,
    E_L: ArrayLike = 0.0,
    t_ref: float = 0.0,
    dt: float,
    steps: int,
    capacity: int,
    V_m: ArrayLike | None = None,
    I_syn: ArrayLike | None = None,
    backend: str | None = None,
) -> Spikes:
    """`tau_m * dV/dt = -(V - E_L) + I`, `tau_syn * dI/dt = -I`: spikes where V reaches V_th, at exact times.

    A spike of input i at t makes `I[j] += weights[i, j]` at t + delay, and one of neuron i `I[j] +=
    recurrent[i, j]` at t + recurrent_delay. At a spike V becomes V_reset, and stays so for t_ref, while I
    goes on. Times are not rounded to steps of dt: arrivals act when they come, a crossing of V_th is the root
    of a closed form, and none is missed. A step is what is looked at together: results depend on dt by
    rounding alone.

    So times of spikes are smooth functions of weights, delays, times of inputs, V_th, V_reset, E_L, V_m and
    I_syn, as long as no spike comes or goes. Their derivatives are exact: no surrogate, no state of a step is
    kept, only spikes. With lambda_V and lambda_I the derivatives of a loss L in V and I of a neuron,
    backwards in time

        tau_m * d(lambda_V)/dt = lambda_V,  d(lambda_I)/dt = lambda_I / tau_syn - lambda_V / tau_m,
        lambda_V(t-) = -(dL/dt + sum of dL/da of its arrivals - V'(r+) * lambda_V(r+)) / V'(t-)  at a spike,
        dL/dw = lambda_I(a),  dL/da = w * d(lambda_I)/dt(a)  for an arrival at a = t + delay of weight w,
        dL/dV_th = -sum of lambda_V(t-),  dL/dV_reset = sum of lambda_V(r+)  over the spikes of a neuron,

    where V is released at r = t + t_ref, and lambda_V is 0 from t to r.

    A neuron that is silent has no derivative, and a spike that only just reaches V_th a large one: in a loss,
    add a term for silent neurons, such as one of weights, or of the potential of a `leaky_integrator`.

    Works under jit, grad and vmap: a batch of samples is one call, forwards and backwards, on all threads,
    and sums derivatives in weights over the batch. Reverse mode and first derivatives only. A row of dense
    weights with one delay is one vector operation; delays of weights, and a CSR, cost more for each spike.

    Args:
        times: (n,), of input spikes in ms, in any order; inf is padding. float32 or float64.
        ids: (n,), of the inputs that spike; out of [0, inputs) is padding. Results of `lif` are inputs of the
            next layer: `lif(*hidden[:2], weights, ...)`.
        weights: (inputs, neurons), or a CSR of that shape; in the unit of V, dtype of times.
        recurrent: (neurons, neurons), or a CSR; None: no synapses between neurons.
        delay: in ms, >= 0: a number; (inputs,), one for each row of dense weights; or one for each weight,
            in the shape of weights, or of the data of a CSR.
        recurrent_delay: in the same way, >= dt.
        tau_m: membrane time constant in ms, > 0; this, tau_syn, t_ref and dt are Python numbers, without
            derivatives.
        tau_syn: time constant of the current in ms, > 0; it may be tau_m.
        V_th: threshold: a number, or (neurons,); this, V_reset and E_L have derivatives.
        V_reset: potential after a spike, < V_th; in the same way.
        E_L: resting potential, in the same way; a constant current I_e is an E_L higher by I_e.
        t_ref: refractory time in ms, >= 0, for which V stays at V_reset after a spike, while I goes on.
        dt: a step in ms, > 0, at most the shortest delay between neurons, and 4 times tau_m and tau_syn.
        steps: how many steps to run, static; what arrives later, or before 0, does nothing.
        capacity: how many spikes the result has room for, static.
        V_m: the first potential, < V_th: a number, or (neurons,); default: E_L.
        I_syn: the first current, in the same way; default: 0.
        backend: run on this one or not at all; "numba_cpu", or "reference", which is slow; default: choose.

    Returns:
        The spikes. More than capacity, or a value that is NaN, make all times NaN: see `Spikes.num_spikes`.

    Raises:
        TypeError: a dtype that is not taken or differs, a tau or dt that is no number.
        ValueError: a shape that does not fit; where values are known, a delay that is negative or between
            neurons shorter than dt, or V_m or V_reset >= V_th.
        NotImplementedError: forward mode, or a second derivative.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from event_ops import eventprop
        >>> constants = {"tau_m": 20.0, "tau_syn": 5.0, "dt": 1.0, "steps": 50, "capacity": 4}
        >>> def latency(weight):
        ...     times, ids = jnp.array([2.0]), jnp.array([0])
        ...     return eventprop.lif(times, ids, weight[None, None], delay=1.5, **constants).times[0]
        >>> value, slope = jax.value_and_grad(latency)(jnp.float32(8.0))
        >>> print(f"{value:.3f} ms, {slope:.3f} ms per unit of weight")
        7.617 ms, -0.995 ms per unit of weight

    Source: Wunderlich and Pehle (2021), Sci. Rep. 11, 12829, EventProp; with delays: Meszaros, Knight and
        Nowotny (2025), arXiv:2501.07331; exact times on a grid: Morrison et al. (2007), Neural Comput. 19,
        47-79; Hanuschkin et al. (2010), Front. Neuroinform. 4, 113.
    """
    synapses = Synapses.of(weights, delay, recurrent, recurrent_delay, dt)
    levels = V_th, V_reset, E_L, V_m, I_syn
    neuron = {"tau_m": tau_m, "tau_syn": tau_syn, "dt": dt, "t_ref": t_ref}
    sizes = known_size("steps", steps, least=1), known_size("capacity", capacity, least=1), 0
    spikes, out_ids, ends, _ = _run(times, ids, synapses, levels, neuron, sizes, backend)
    return Spikes(spikes[0, 0], out_ids[0], ends[0, -1])


def leaky_integrator(
    times: ArrayLike,
    ids: ArrayLike,
    weights: Any,
    *,
    delay: ArrayLike,
    tau_m: float,
    tau_syn: float,
    E_L: ArrayLike = 0.0,
    dt: float,
    steps: int,
    V_m: ArrayLike | None = None,
    I_syn: ArrayLike | None = None,
    backend: str | None = None,
) -> jax.Array:
    """`V[k]` at `(k + 1) * dt` of readouts: neurons as in `lif` that never spike.

    Exact and differentiable in weights, delays, times, E_L, V_m and I_syn; arguments are those of `lif`.

    Returns:
        V: (steps, neurons), dtype of weights; NaN where a time, a delay or a state is NaN.

    Raises:
        TypeError, ValueError, NotImplementedError: as `lif` does.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import eventprop
        >>> times, ids = jnp.array([0.0]), jnp.array([0])
        >>> V = eventprop.leaky_integrator(
        ...     times, ids, jnp.ones((1, 1)), delay=1.0, tau_m=20.0, tau_syn=5.0, dt=1.0, steps=3
        ... )
        >>> V[:, 0].round(4)
        Array([0.    , 0.0442, 0.0782], dtype=float32)

    Source: as `lif`; readouts: Nowotny, Turner and Knight (2025), Neuromorph. Comput. Eng. 5, 014001.
    """
    synapses = Synapses.of(weights, delay, None, None, dt)
    levels = math.inf, E_L, E_L, V_m, I_syn
    neuron = {"tau_m": tau_m, "tau_syn": tau_syn, "dt": dt, "t_ref": 0.0}
    rows = known_size("steps", steps, least=1)
    *_, trace = _run(times, ids, synapses, levels, neuron, (rows, 1, rows), backend)
    return trace[0]


def _run(
    times: Any,
    ids: Any,
    synapses: Synapses,
    levels: tuple[Any, Any, Any, Any, Any],
    neuron: dict[str, float],
    sizes: tuple[int, int, int],
    backend: str | None,
) -> Any:
    """Return the results of a batch of one.

    levels: V_th, V_reset, E_L, V_m and I_syn; sizes: steps, capacity, and rows of the trace.
    """
    steps, capacity, rows = sizes
    when, who = input_spikes(times, ids, synapses.weights)
    dtype, neurons = synapses.weights.dtype, synapses.neurons
    relative, state, rest = potentials(*levels, neurons, dtype)
    values = constants(synapses.input_rows, dtype, **neuron)
    outs = (
        jax.ShapeDtypeStruct((1, 3, capacity), dtype),
        jax.ShapeDtypeStruct((1, capacity), np.int32),
        jax.ShapeDtypeStruct((1, steps + 1), np.int32),
        jax.ShapeDtypeStruct((1, rows, neurons), dtype),
    )
    structure = synapses.structure
    shared = synapses.weights, synapses.delays, relative, *structure
    inputs = *shared, when[None], who[None], state[None], values
    spikes, out_ids, ends, trace = forward(*inputs, outs=outs, backend=backend, ndim=synapses.weights.ndim)
    return spikes, out_ids, ends, trace + rest[None, None]
