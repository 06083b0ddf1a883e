"""A model of one neuron: its functions, and its states in a step."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp

from event_ops.codegen.function import as_results, name_of
from event_ops.codegen.refusals import Source, Subject
from event_ops.kernels.reference.noise import DOMAINS, STREAMS
from event_ops.kernels.reference.spiking import Surrogate, crossings, is_held, raised, unless
from event_ops.neurons.increments import increments

SUBJECT: Final = Subject(
    "neuron model",
    "neuron",
    "state",
    "neurons",
    "step",
    "let the step draw numbers, neuron_step(..., noise={'xi': 'normal'}), or draw them outside, one for each "
    "neuron, and pass them by name",
)
REFRACTORY: Final = "refractory"  # the remaining time, a state behind the others
TIMES: Final[tuple[str, ...]] = "t_ref", "dt"  # what it needs
DRAWN: Final[Mapping[str, bool]] = {"seed": True, "step": True, "first": False}  # what noise needs, or takes
BEFORE: Final = "_before"  # behind the name of a state, in threshold: its value before the step
RESERVED: Final = "backend", "capacity", "surrogate", REFRACTORY
_KEPT: Final = 1024  # functions
Values = Sequence[jax.Array]


@dataclass(frozen=True)
class Model:
    """Hold the functions of a neuron: of its states by position, and of variables by name.

    Args:
        integrate: returns the new states.
        threshold: returns a number that is above 0 where the neuron spikes, or a flag; it may take states as
            they were before the step, by names that end with BEFORE.
        reset: returns the states after a spike; None: as they are.
        states: their names.
        observed: names of values that integrate returns besides.
        held: which of the states stay as they are in the refractory time, by their places; None: there is
            no such time.
        noise: name and distribution of the variables that are drawn in the step.
    """

    integrate: Callable[..., Any]
    threshold: Callable[..., Any]
    reset: Callable[..., Any] | None
    states: tuple[str, ...]
    held: tuple[int, ...] | None
    observed: tuple[str, ...]
    noise: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        integrate: Callable[..., Any],
        threshold: Callable[..., Any],
        reset: Callable[..., Any] | None,
        held: Sequence[str] | None,
        observed: Sequence[str],
        noise: Mapping[str, str] | None = None,
    ) -> Model:
        """Return the model; raise unless its functions fit together."""
        states = _positional(integrate)
        name = name_of(integrate)
        if not states:
            raise TypeError(
                f"{name} takes nothing by position; expected the states: def {name}(V_m, *, I_syn)"
            )
        for role, function in (("threshold", threshold), ("reset", reset)):
            if function is not None and not _takes(function, len(states)):
                raise TypeError(
                    f"{role} takes {', '.join(_positional(function)) or 'nothing'} by position; expected all "
                    f"states, as {name} does: {', '.join(states)}; and behind a * what else it needs"
                )
        wrong = [x for x in held or () if x not in states]
        if wrong or isinstance(held, str):
            raise ValueError(
                f"held is {held!r}; expected names of states that stay in the refractory time, from "
                f"{', '.join(states)}, as a tuple; () for none"
            )
        places = None if held is None else tuple(map(states.index, held))
        if isinstance(observed, str):
            raise ValueError(f"observed is {observed!r}; expected a tuple of names, such as ('I_K',)")
        model = cls(integrate, threshold, reset, states, places, tuple(observed), _checked_noise(noise))
        taken = model.taken
        for variable, _ in model.noise:
            if held is not None and variable in TIMES:
                raise ValueError(
                    f"noise has {variable!r}, which says how long states are held; expected another"
                )
            if variable not in taken:
                names = ", ".join(taken) or "none"
                raise ValueError(f"noise has {variable!r}, which no function takes; expected one of {names}")
        for variable in taken:
            if variable in (*RESERVED, *states, *model.before, *(DRAWN if noise else ())):
                raise ValueError(f"{name} has a variable {variable!r}, which is the name of something else")
        return model

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Return the functions, of which reset may be missing."""
        return tuple(f for f in (self.integrate, self.threshold, self.reset) if f is not None)

    @property
    def before(self) -> tuple[str, ...]:
        """Return the names that threshold has for the states before the step."""
        return tuple(f"{name}{BEFORE}" for name in self.states)

    @functools.cached_property
    def taken(self) -> dict[str, bool]:
        """Return name -> whether there is no default, of all values that the functions take by name."""
        needed: dict[str, bool] = dict.fromkeys(TIMES if self.held is not None else (), True)
        for function in self.functions:
            for name, parameter in named(function).items():
                if function is self.threshold and name in self.before:
                    continue
                needed[name] = needed.get(name, False) or parameter.default is parameter.empty
        return needed

    @functools.cached_property
    def variables(self) -> dict[str, bool]:
        """Return name -> whether it has to be given, of all values that a step takes by name."""
        drawn = dict(self.noise)
        taken = {name: needed for name, needed in self.taken.items() if name not in drawn}
        return taken | DRAWN if drawn else taken


def _checked_noise(noise: Any) -> tuple[tuple[str, str], ...]:
    """Return names and distributions; raise unless there are as many streams, and these distributions."""
    drawn = tuple((noise or {}).items()) if isinstance(noise, Mapping | None) else ((str(noise), ""),)
    wrong = [distribution for _, distribution in drawn if distribution not in DOMAINS]
    if wrong or len(drawn) > STREAMS:
        raise ValueError(
            f"noise is {noise!r}; expected a dict of at most {STREAMS} variables of the functions, each "
            f"{' or '.join(map(repr, DOMAINS))}: {{'xi': 'normal'}}"
        )
    return drawn


def advance(
    model: Model, surrogate: Surrogate | None, *states: jax.Array, **variables: jax.Array
) -> tuple[jax.Array, ...]:
    """Return the states, the spike and the observed values of one neuron after a step.

    It integrates unless it is held, compares, and resets.
    """
    old = states if model.held is None else states[:-1]
    before = dict(zip(model.before, old, strict=True))
    if model.held is None:
        new, seen = integrated(model, old, variables)
        spike = _crossed(model.threshold, new, variables | before, surrogate)
        return *_after(model.reset, spike, new, variables, False), spike, *seen
    left, dt, t_ref = states[-1], variables["dt"], variables["t_ref"]
    idle = is_held(left, dt)
    new, seen = _moved(model, old, model.held, idle, variables)
    crossed = _crossed(model.threshold, new, variables | before, surrogate)
    spike = jnp.where(idle, jnp.zeros((), crossed.dtype), crossed)
    remaining = jnp.where(idle, jnp.maximum(left - dt, 0), 0)
    left = jnp.where(spike.astype(bool), t_ref, remaining)
    return *_after(model.reset, spike, new, variables, idle), left, spike, *seen


def _moved(
    model: Model, old: Values, held: tuple[int, ...], idle: jax.Array, variables: dict[str, jax.Array]
) -> tuple[Values, Values]:
    """Return the new states, of which held ones stay where the neuron is idle, and the observed values."""
    free, seen = old, []
    if len(held) < len(old) or model.observed:
        free, seen = integrated(model, old, variables)
    if not held:
        return free, seen
    # Of what is held, derivatives do not pass, where 0 times what is infinite is not NaN.
    passing = {name: unless(idle, x) for name, x in variables.items()}
    # The same operations twice: where derivatives play no part, equal ones become one.
    moved, _ = integrated(model, [unless(idle, x) for x in old], passing)
    return [jnp.where(idle, old[i], moved[i]) if i in held else x for i, x in enumerate(free)], seen


def integrated(model: Model, states: Values, variables: dict[str, jax.Array]) -> tuple[Values, Values]:
    """Return the states that integrate returns, and the observed values, the dictionary behind them."""
    returned, name = called(model.integrate, states, variables), name_of(model.integrate)
    *new, seen = returned if isinstance(returned, tuple | list) and returned else [returned]
    if not isinstance(seen, dict):
        new, seen = [*new, seen], {}
    if seen.keys() != {*model.observed}:
        raise ValueError(
            f"the neuron model {name!r} returns {', '.join(seen) or 'nothing'} in a dictionary behind the "
            f"states, and observed is {model.observed!r}; expected the same names in both"
        )
    values, dtypes = [seen[key] for key in model.observed], [x.dtype for x in states]
    observed = as_results(SUBJECT, name, values, dtypes[:1] * len(values))
    return as_results(SUBJECT, name, new, dtypes), observed


def _after(
    reset: Callable[..., Any] | None,
    spike: jax.Array,
    states: Values,
    variables: dict[str, jax.Array],
    idle: jax.Array | bool,
) -> Values:
    """Return the states, after a reset where there is a spike."""
    if reset is None:
        return states

    def told(states: Values, variables: dict[str, jax.Array]) -> Values:
        returned, dtypes = called(reset, states, variables), [x.dtype for x in states]
        return as_results(SUBJECT, name_of(reset), returned, dtypes)

    news = zip(told(states, variables), states, strict=True)
    after = [jnp.where(spike.astype(bool), new, old) for new, old in news]
    if spike.dtype == bool:
        return after
    source = Source(name_of(reset), (reset,), SUBJECT)
    return [
        x
        if rise is None or not jnp.issubdtype(x.dtype, jnp.floating)
        else raised(x, jnp.where(idle, 0, rise), spike)
        for x, rise in zip(after, increments(told, states, variables, source), strict=True)
    ]


def _crossed(
    threshold: Callable[..., Any],
    states: Values,
    variables: dict[str, jax.Array],
    surrogate: Surrogate | None,
) -> jax.Array:
    """Return the spike: a flag, or with a surrogate a number."""
    returned, dtype = called(threshold, states, variables), states[0].dtype
    if not isinstance(returned, jax.Array) or returned.dtype != bool:
        (over,) = as_results(SUBJECT, name_of(threshold), returned, [dtype])
        return crossings(over, jnp.zeros((), dtype), surrogate)
    if surrogate is not None:
        raise TypeError(
            f"threshold {name_of(threshold)!r} returns a flag, which has no derivative; with a surrogate, "
            "expected a number that is above 0 where the neuron spikes: V_m - V_th"
        )
    return returned


def called(function: Callable[..., Any], states: Sequence[Any], variables: dict[str, Any]) -> Any:
    """Call a function of a model with all states and the variables that it takes."""
    return function(*states, **{name: x for name, x in variables.items() if name in named(function)})


def _positional(function: Callable[..., Any]) -> tuple[str, ...]:
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return tuple(x.name for x in _parameters(function) if x.kind in kinds)


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether a function takes `count` states by position, some maybe as *args."""
    positional = len(_positional(function))
    more = any(x.kind is inspect.Parameter.VAR_POSITIONAL for x in _parameters(function))
    return positional == count or (more and positional < count)


def named(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return name -> parameter of the arguments that a function takes by name."""
    return {x.name: x for x in _parameters(function) if x.kind is inspect.Parameter.KEYWORD_ONLY}


@functools.lru_cache(_KEPT)
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())


def misnamed(given: Collection[str], expected: Mapping[str, bool]) -> str:
    """Return which names are needed and not given, and which are given and unknown; "" where none is.

    expected: name -> whether it is needed.
    """
    unknown = [name for name in given if name not in expected]
    missing = [name for name, needed in expected.items() if needed and name not in given]
    found = (("no", missing), ("the unknown", unknown))
    return " and ".join(f"{role} {', '.join(names)}" for role, names in found if names)
