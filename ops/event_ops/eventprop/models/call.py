"""`neuron`: exact times of the spikes of neurons of any smooth model, with derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import check_positive, is_known
from event_ops.checks.keywords import known_size
from event_ops.codegen.function import name_of
from event_ops.eventprop.checks import Synapses, input_spikes, of_neurons, of_run
from event_ops.eventprop.models.functions import Functions
from event_ops.eventprop.models.refusals import (
    check_flag,
    check_flow,
    check_names,
    check_smooth,
    checked_model,
)
from event_ops.eventprop.operators import of_models
from event_ops.eventprop.spikes import Spikes
from event_ops.neurons.step import NeuronStep
from event_ops.sparse.csr import CSR


def neuron(
    model: NeuronStep,
    times: ArrayLike,
    ids: ArrayLike,
    weights: Any,
    recurrent: Any = None,
    *,
    target: str,
    states: Mapping[str, ArrayLike],
    variables: Mapping[str, ArrayLike],
    delay: ArrayLike,
    recurrent_delay: ArrayLike | None = None,
    dt: float,
    steps: int,
    capacity: int,
    backend: str | None = None,
) -> Spikes:
    """`x(t + h) = integrate(x(t), dt=h)`: spikes where `threshold(x)` reaches 0, for any smooth neuron.

    `integrate`, `threshold` and `reset` are those of `neuron_step`. A spike of input i at t makes `target[j]
    += weights[i, j]` at t + delay, and one of neuron i `target[j] += recurrent[i, j]` at t + recurrent_delay.
    At a spike the states become `reset(x)`; states that the model holds stay for t_ref, while others go on.
    A step of dt ends early where the neuron spikes, is released, or something arrives, and goes on from
    there: `integrate` is called with the time between two of these, and its dt is h in (0, dt].

    Of an exact solution, such as decay by exp(-dt / tau), results depend on dt by rounding alone. Of any
    other, such as Euler's, they are those of the method with these steps. Derivatives are exact for either:
    no surrogate. Of a spike at t, after an event at s with states x, for F = `integrate`, g = `threshold` and
    variables p,

        d(t) = -(dg/dx @ d(F) + dg/dp @ d(p)) / (dg/dx @ dF/dh),  d(F) of F(x, t - s, p) at a fixed t,

    and at arrivals and resets states jump, with the derivatives of `target + w` and of `reset`. So times have
    derivatives in weights, delays, times of inputs, first states, and all variables, t_ref and time constants
    among them, as long as no spike comes or goes.

    A spike is looked for between two events, also at a maximum of g in between: if g falls before it, or
    rises again behind it, where the cubic has one that has the values and slopes of g at both ends. The cubic
    differs from g in fourth order of the time in between, so that a spike is missed only where g passes its
    threshold by as little; a smaller dt is the remedy. The time of a spike is a root by Newton's method in
    a bracket, to 4 units in the last place of the time between the events. A neuron that is silent has no
    derivative, and a spike that only just reaches the threshold a large one, infinite where g has no slope.

    Works under jit, grad and vmap, as `lif` does: a batch is one call. Reverse mode, first derivatives.
    Backwards the run is repeated at the known times: what is kept between the two are spikes alone. The
    functions are computed for every arrival at every neuron. Of dense rows with one delay each, which arrive
    everywhere at once, that is one loop over all neurons, in SIMD, outside of which is what depends on
    variables that are numbers. Delays of weights, and a CSR, take a neuron at a time, and far longer.

    Args:
        model: `neuron_step(integrate, threshold=..., reset=..., held=...)`, of functions that are smooth in
            the states and in dt, which `integrate` takes by name: for 0 it returns the states. They may have
            kinks, such as `jnp.maximum`,
            and may compare for ==, as to fill a gap, but do not jump. `threshold` returns a number, which
            does not depend on the target itself, where it would jump.
        times, ids, weights, recurrent, delay, recurrent_delay: as in `lif`.
        target: name of the state to which weights are added, such as a current.
        states: name -> first value, a number or (neurons,), of all states; the threshold is below 0 there.
        variables: name -> value, a number, which is faster, or (neurons,), of all that the functions take by
            name but dt; if states are held also t_ref in ms, >= 0.
        dt: longest step in ms, > 0, at most the shortest delay between neurons; a Python number.
        steps: how many steps to run, static; what arrives later, or before 0, does nothing.
        capacity: how many spikes the result has room for, static.
        backend: run on this one or not at all; default: choose.

    Returns:
        The spikes, as of `lif`; `num_spikes` is -1 and all times are NaN also where a state is NaN or
        infinite at the end, or the threshold is at 0 or above at the beginning, behind a reset, or when held
        states are released.

    Raises:
        TypeError: model is none of `neuron_step`; names of states or variables that are missing or unknown; a
            dtype that is not taken or differs; a threshold that is a flag.
        ValueError: a model that has noise or observed values, no reset, or no dt, whose threshold reads
            states before the step or the target, or whose functions jump, or move in no time; a shape that
            does not fit; where values are known, a delay that is too short, or t_ref < 0.
        NotImplementedError: forward mode, or a second derivative.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from event_ops import eventprop, neuron_step
        >>> def quadratic(V, I, *, tau, tau_syn, dt):  # a step of Euler's method
        ...     return V + dt / tau * (V * V - 1 + I), I * jnp.exp(-dt / tau_syn)
        >>> model = neuron_step(
        ...     quadratic, threshold=lambda V, I: V - 10.0, reset=lambda V, I: (-10.0, I)
        ... )
        >>> def latency(tau):
        ...     given = jnp.array([2.0]), jnp.array([0]), jnp.full((1, 1), 9.0)
        ...     variables, states = {"tau": tau, "tau_syn": 5.0}, {"V": -1.0, "I": 0.0}
        ...     options = {"delay": 1.5, "dt": 0.125, "steps": 200, "capacity": 8}
        ...     return eventprop.neuron(
        ...         model, *given, target="I", states=states, variables=variables, **options
        ...     ).times[0]
        >>> value, slope = jax.value_and_grad(latency)(jnp.float32(4.0))
        >>> print(f"{value:.2f} ms, {slope:.2f} ms per ms of tau")
        6.30 ms, 0.77 ms per ms of tau

    Source: Wunderlich and Pehle (2021), Sci. Rep. 11, 12829, whose adjoint is that of any such neuron; jumps
        of derivatives at events: Galan, Feehery and Barton (1999), Appl. Numer. Math. 31, 17-47.
    """
    found = checked_model(model, target)
    check_positive("dt", np.asarray(float(dt)))
    synapses = Synapses.of(weights, delay, recurrent, recurrent_delay, dt)
    rows, neurons, dtype = synapses.input_rows, synapses.neurons, synapses.weights.dtype
    when, who = input_spikes(times, ids, synapses.weights)
    check_names("states", states, dict.fromkeys(found.states, True))
    check_names("variables", variables, {x: needed for x, needed in found.variables.items() if x != "dt"})
    if "t_ref" in variables and found.held is not None and is_known(variables["t_ref"]):
        check_positive("t_ref", variables["t_ref"], zero=True)
    state = jnp.stack([of_neurons(name, states[name], neurons, dtype) for name in found.states])
    given = [of_neurons(name, x, neurons, dtype) for name, x in variables.items()]
    parameters = jnp.stack(given) if given else jnp.zeros((0, neurons), dtype)
    one = jax.ShapeDtypeStruct((), dtype)
    jax.eval_shape(lambda x: check_flag(found, [x] * len(found.states), dict.fromkeys(variables, x)), one)
    functions = Functions.of(found, target, variables, dtype)
    check_smooth(found, functions)
    check_flow(functions, name_of(found.integrate))
    shared = synapses.weights, synapses.delays
    structure = synapses.structure
    if synapses.weights.ndim == 1 and not any(isinstance(x, CSR) for x in (weights, recurrent)):
        # Dense rows of which each weight has a delay.
        shared = tuple(x.reshape(-1, neurons) for x in shared)
        structure = tuple(x[:0] for x in structure)
    size = known_size("capacity", capacity, least=1)
    outs = (
        jax.ShapeDtypeStruct((1, 3, size), dtype),
        jax.ShapeDtypeStruct((1, size), np.int32),
        jax.ShapeDtypeStruct((1, known_size("steps", steps, least=1) + 1), np.int32),
        jax.ShapeDtypeStruct((1, 0, neurons), dtype),
    )
    values = of_run(dt, rows, dtype)
    inputs = *shared, parameters, *structure, when[None], who[None], state[None], values
    static: Any = {"ndim": shared[0].ndim, "neuron": functions}
    spikes, out_ids, ends, _ = of_models(*inputs, outs=outs, backend=backend, **static)
    return Spikes(spikes[0, 0], out_ids[0], ends[0, -1])
