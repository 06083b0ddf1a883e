"""The functions of a neuron model between events, traced: its flow, its threshold, and its reset."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from event_ops.codegen.function import ALL, Traced, as_results, name_of
from event_ops.neurons.model import SUBJECT, Model, called, integrated

_KEPT: Final = 1024  # models
_EACH: Final = "each"  # the place of what has a value for each neuron


@dataclass(frozen=True)
class Functions:
    """Hold the functions of states and, by name, of parameters, whose place tells if all neurons share one.

    Args:
        flow: the states after a time "dt", the last of what it takes.
        moved: the same where "is_held", the last of what it takes, is 0; else held states stay.
        level: what is 0 where the neuron spikes.
        rise: the states behind the flow, the level there, and its derivative in dt.
        reach: the states as `moved` has them, and 1 where the level may be above 0 on the way, else 0.
        reset: the states after a spike.
        target: place of the state to which weights are added.
        wait: place of t_ref among the parameters; -1: there is none.
    """

    is_exact: ClassVar = True  # as its functions are

    flow: Traced
    moved: Traced
    level: Traced
    rise: Traced
    reach: Traced
    reset: Traced
    target: int
    wait: int

    @classmethod
    def of(cls, model: Model, target: str, variables: Mapping[str, Any], dtype: Any) -> "Functions":
        """Return the functions of a model, of these variables; a number is one for all neurons."""
        states, names = len(model.states), tuple(variables)
        shared = [ALL if np.ndim(x) == 0 else _EACH for x in variables.values()]
        of_time, of_held = (*names, "dt"), (*names, "dt", "is_held")

        def traced(function: Any, names: tuple[str, ...], results: int, *written_as: Any) -> Traced:
            dtypes = [np.dtype(dtype)] * (states + len(names))
            results_of = dtypes[:1] * results
            places = [*[_EACH] * states, *shared, ALL, _EACH][: len(dtypes)]
            return Traced.of(
                function, dtypes, names, places, SUBJECT, results=results_of, written_as=written_as
            )

        flow = traced(partial(_flow, model), of_time, states, model.integrate)
        moved = traced(partial(_moved, flow, model.held or ()), of_held, states, model.integrate)
        level = traced(partial(_level, model), names, 1, model.threshold)
        reset = traced(partial(_reset, model), names, states, model.reset)
        made_of = model.integrate, model.threshold
        rise = traced(partial(_rise, flow, level), of_time, states + 2, *made_of)
        reach = traced(partial(_reach, moved, flow, level), of_held, states + 1, *made_of)
        wait = -1 if model.held is None else names.index("t_ref")
        return cls(flow, moved, level, rise, reach, reset, model.states.index(target), wait)

    @property
    def states(self) -> int:
        """Return the number of states."""
        return self.flow.positional


def _flow(model: Model, *states: Any, **variables: Any) -> Any:
    return integrated(model, states, variables)[0]


def _moved(flow: Traced, held: tuple[int, ...], *states: Any, is_held: Any, **variables: Any) -> Any:
    after = jaxpr_as_fun(flow.jaxpr)(*states, *variables.values())
    pairs = enumerate(zip(states, after, strict=True))
    return [jnp.where(is_held > 0, old, new) if k in held else new for k, (old, new) in pairs]


def _level(model: Model, *states: Any, **variables: Any) -> Any:
    over = called(model.threshold, states, variables)
    return as_results(SUBJECT, name_of(model.threshold), over, [states[0].dtype])


def _reset(model: Model, *states: Any, **variables: Any) -> Any:
    return called(model.reset, states, variables)  # pyright: ignore[reportArgumentType]


def _over(flow: Traced, level: Traced, states: Any, parameters: Any, dt: Any) -> Any:
    """Return the level after a time dt, and the states there."""
    moved = jaxpr_as_fun(flow.jaxpr)(*states, *parameters, dt)
    return jaxpr_as_fun(level.jaxpr)(*moved, *parameters)[0], moved


def _rise(flow: Traced, level: Traced, *states: Any, **variables: Any) -> Any:
    *parameters, dt = variables.values()
    after = partial(_over, flow, level, states, parameters)
    over, slope, moved = jax.jvp(after, (dt,), (jnp.ones_like(dt),), has_aux=True)
    return *moved, over, slope


def _reach(moved: Traced, flow: Traced, level: Traced, *states: Any, **variables: Any) -> Any:
    """Return 1 where the level may be above 0 on the way.

    A cubic is between the least and the most of four numbers: its values at both ends, and those of its
    tangents there, a third of the way on. Here it is asked of them at the other end.
    """
    *parameters, dt, is_held = variables.values()

    def rise(h: Any) -> Any:
        return jax.jvp(lambda h: _over(flow, level, states, parameters, h)[0], (h,), (jnp.ones_like(h),))

    (first, rises), (last, falls) = rise(jnp.zeros_like(dt)), rise(dt)
    stays = (is_held > 0) | ((last <= 0) & (first + rises * dt <= 0) & (last - falls * dt <= 0))
    after = jaxpr_as_fun(moved.jaxpr)(*states, *parameters, dt, is_held)
    return *after, jnp.where(stays, 0, jnp.ones_like(dt))


@lru_cache(_KEPT)
def pulled_back(function: Traced) -> Traced:
    """Return the adjoint: cotangents of all inputs, of cotangents of the results and, by name, the inputs."""
    names = [f"x{k}" for k in range(len(function.dtypes))]
    given = [np.dtype(x) for x in function.dtypes]
    dtypes = [given[0]] * function.count + given
    places = [*[_EACH] * function.count, *function.places]
    pull = partial(_pull, function)
    return Traced.of(pull, dtypes, names, places, SUBJECT, results=given, written_as=(_pull,))


def _pull(function: Traced, *cotangents: Any, **inputs: Any) -> Any:
    _, pull = jax.vjp(jaxpr_as_fun(function.jaxpr), *inputs.values())
    return pull(list(cotangents))
