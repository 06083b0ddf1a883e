"""The functions of a neuron model between events, traced: its flow, its threshold, and its reset."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from event_ops.codegen.function import Traced, as_results, name_of
from event_ops.neurons.model import SUBJECT, Model, called, integrated

_KEPT: Final = 1024  # models
_EACH: Final = "each"  # the place of what has a value for each neuron


@dataclass(frozen=True)
class Functions:
    """Hold the functions of states and, by name, of parameters.

    Args:
        flow: the states after a time "dt", the last of what it takes.
        held: as flow, in the refractory time; None: there is none.
        level: what is 0 where the neuron spikes.
        rise: the states behind the flow, the level there, and its derivative in dt.
        reset: the states after a spike.
        target: place of the state to which weights are added.
        wait: place of t_ref among the parameters; -1: there is none.
    """

    is_exact: ClassVar = True  # as its functions are

    flow: Traced
    held: Traced | None
    level: Traced
    rise: Traced
    reset: Traced
    target: int
    wait: int

    @classmethod
    def of(cls, model: Model, target: str, names: tuple[str, ...], dtype: Any) -> "Functions":
        """Return the functions of a model that takes parameters of these names."""
        states = len(model.states)

        def traced(function: Any, names: tuple[str, ...], results: int, *written_as: Any) -> Traced:
            dtypes = [np.dtype(dtype)] * (states + len(names))
            results_of = dtypes[:1] * results
            places = [_EACH] * len(dtypes)
            return Traced.of(
                function, dtypes, names, places, SUBJECT, results=results_of, written_as=written_as
            )

        flow = traced(partial(_flow, model, ()), (*names, "dt"), states, model.integrate)
        held = None
        if model.held is not None:
            held = traced(partial(_flow, model, model.held), (*names, "dt"), states, model.integrate)
        level = traced(partial(_level, model), names, 1, model.threshold)
        reset = traced(partial(_reset, model), names, states, model.reset)
        made_of = model.integrate, model.threshold
        rise = traced(partial(_rise, flow, level), (*names, "dt"), states + 2, *made_of)
        wait = -1 if model.held is None else names.index("t_ref")
        return cls(flow, held, level, rise, reset, model.states.index(target), wait)

    @property
    def states(self) -> int:
        """Return the number of states."""
        return self.flow.positional


def _flow(model: Model, held: tuple[int, ...], *states: Any, **variables: Any) -> Any:
    """Return the states after a time dt, of which held ones stay."""
    after = integrated(model, states, variables)[0]
    return [old if k in held else new for k, (old, new) in enumerate(zip(states, after, strict=True))]


def _level(model: Model, *states: Any, **variables: Any) -> Any:
    over = called(model.threshold, states, variables)
    return as_results(SUBJECT, name_of(model.threshold), over, [states[0].dtype])


def _reset(model: Model, *states: Any, **variables: Any) -> Any:
    return called(model.reset, states, variables)  # pyright: ignore[reportArgumentType]


def _rise(flow: Traced, level: Traced, *states: Any, **variables: Any) -> Any:
    *parameters, dt = variables.values()

    def after(dt: Any) -> Any:
        moved = jaxpr_as_fun(flow.jaxpr)(*states, *parameters, dt)
        return jaxpr_as_fun(level.jaxpr)(*moved, *parameters)[0], moved

    over, slope, moved = jax.jvp(after, (dt,), (jnp.ones_like(dt),), has_aux=True)
    return *moved, over, slope


@lru_cache(_KEPT)
def pulled_back(function: Traced) -> Traced:
    """Return the adjoint: cotangents of all inputs, of cotangents of the results and, by name, the inputs."""
    names = [f"x{k}" for k in range(len(function.dtypes))]
    given = [np.dtype(x) for x in function.dtypes]
    dtypes = [given[0]] * function.count + given
    places = [_EACH] * len(dtypes)
    pull = partial(_pull, function)
    return Traced.of(pull, dtypes, names, places, SUBJECT, results=given, written_as=(_pull,))


def _pull(function: Traced, *cotangents: Any, **inputs: Any) -> Any:
    _, pull = jax.vjp(jaxpr_as_fun(function.jaxpr), *inputs.values())
    return pull(list(cotangents))
