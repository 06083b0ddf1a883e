"""Refuse by name a model whose spikes have no exact gradient."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.codegen.function import Traced, name_of
from event_ops.codegen.operations import Loop, Operation
from event_ops.eventprop.models.functions import Functions
from event_ops.neurons.model import Model, called, misnamed, named
from event_ops.neurons.step import NeuronStep

_KEPT: Final = 1024  # models
_PROBES: Final = 3
# Continuous operations with a kink, such as max, are none of these, nor is x == 0, which fills a gap at 0.
_JUMPS: Final = {
    "bitcast_convert_type", "ceil", "floor", "ge", "gt", "is_finite", "le", "lt", "rem", "round", "sign",
}  # fmt: skip


def checked_model(model: Any, target: str) -> Model:
    """Return the functions of a model; raise unless it moves by a time dt, without chance, and resets."""
    if not isinstance(model, NeuronStep):
        raise TypeError(
            f"model is a {type(model).__name__}; expected what event_ops.neuron_step returns: "
            "neuron_step(integrate, threshold=..., reset=...)"
        )
    found = model.model
    name = name_of(found.integrate)
    if "dt" not in named(found.integrate):
        raise ValueError(
            f"{name} takes no dt; expected a function of the time that it integrates over, by name: "
            f"def {name}({', '.join(found.states)}, *, dt); steps end where spikes come and go"
        )
    for role, function in (("threshold", found.threshold), ("reset", found.reset)):
        if function is not None and "dt" in named(function):
            raise ValueError(
                f"{role} takes dt, which differs between events; expected the states, and others"
            )
    before = [x for x in named(found.threshold) if x in found.before]
    if before:
        raise ValueError(
            f"threshold takes {', '.join(before)}: states of a step before; expected a function of the "
            "states as they are, since there are no steps between events"
        )
    if found.reset is None:
        raise ValueError("model has no reset; expected one, since a neuron stays above its threshold without")
    if found.noise or found.observed:
        which = f"noise={dict(found.noise)!r}" if found.noise else f"observed={found.observed!r}"
        raise ValueError(f"model has {which}; expected none: there are no steps to draw or to record in")
    if target not in found.states:
        raise ValueError(
            f"target is {target!r}; expected the state to which weights are added: one of "
            f"{', '.join(found.states)}"
        )
    return found


def check_names(kind: str, given: Any, expected: Mapping[str, bool]) -> None:
    """Raise unless names are expected, and none without a default is missing."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{kind} is a {type(given).__name__}; expected a dict: name -> number, or array")
    if wrong := misnamed(given, expected):
        raise TypeError(f"{kind} has {wrong}; expected {', '.join(expected) or 'none'}")


def check_flag(model: Model, states: Sequence[Any], variables: Mapping[str, Any]) -> None:
    """Raise if the threshold is a flag."""
    over = jnp.asarray(called(model.threshold, states, dict(variables)))
    if over.dtype == bool:
        raise TypeError(
            f"threshold {name_of(model.threshold)!r} returns a flag, which has no root; expected a number "
            "that is above 0 where the neuron spikes: V_m - V_th"
        )


def check_smooth(model: Model, functions: Functions) -> None:
    """Raise unless a neuron moves smoothly between events, and spikes there, not at arrivals."""
    for function, name in ((functions.flow, model.integrate), (functions.level, model.threshold)):
        # The last input of the flow is the time.
        moving = {f"x{k}" for k in range(functions.states)}
        if function is functions.flow:
            moving.add(f"x{len(function.dtypes) - 1}")
        _check_jumps(function, moving, name_of(name))
    reset: Any = model.reset
    _check_jumps(functions.reset, {f"x{k}" for k in range(functions.states)}, name_of(reset))
    target = model.states[functions.target]
    moving = {f"x{functions.target}"}
    _follow(functions.level.program.operations, moving)
    if moving & {*functions.level.program.results}:
        raise ValueError(
            f"threshold depends on {target!r}, to which weights are added: a spike that comes with an "
            "arrival has no derivative in its weight; expected a target such as a current, which moves it "
            "smoothly"
        )


@lru_cache(_KEPT)
def check_flow(functions: Functions, name: str) -> None:
    """Raise unless nothing moves in no time, at some states and parameters."""
    drawn = np.random.default_rng(0).uniform(0.1, 2, (len(functions.flow.dtypes), _PROBES))
    with jax.ensure_compile_time_eval():
        *given, dt = (jnp.asarray(x, functions.flow.dtypes[0]) for x in drawn)
        flow = jax.jit(functions.flow.of_each)
        now, later = (np.array(flow(*given, h)) for h in (jnp.zeros_like(dt), dt))
    states = np.array(given[: functions.states])
    is_same = np.isclose(now, states, rtol=1e-4, atol=1e-4).all(0)
    wrong = np.flatnonzero(np.isfinite(later).all(0) & ~is_same)
    if wrong.size:
        told = [", ".join(f"{value:.4g}" for value in x[:, wrong[0]]) for x in (now, states)]
        raise ValueError(
            f"{name} returns {told[0]} for the states {told[1]} and dt = 0; expected these states: what it "
            "changes in a time dt vanishes with dt, and is finite"
        )


def _check_jumps(function: Traced, moving: set[str], name: str) -> None:
    jump = _follow(function.program.operations, moving)
    if jump:
        raise ValueError(
            f"{name} uses {jump!r} of the states or of dt, so it may jump between spikes, where times have "
            "no derivatives; expected a smooth function: jnp.maximum, for example, has a kink, but no jump"
        )


def _follow(operations: Sequence[Operation | Loop], moving: set[str]) -> str:
    """Add to `moving` the names that depend on it; return the first operation on them that jumps, or ""."""
    jump = ""
    for operation in operations:
        if isinstance(operation, Operation):
            if not moving.isdisjoint(operation.operands):
                moving.add(operation.result)
                whole = operation.primitive == "convert_element_type" and "float" not in operation.dtype
                if operation.primitive in _JUMPS or whole:
                    jump = jump or operation.primitive
            continue
        moving |= {x for x, start in zip(operation.carried, operation.start, strict=True) if start in moving}
        for _ in operation.carried:  # as many turns as it may take until all is known
            jump = _follow(operation.body, moving) or jump
            after = zip(operation.carried, operation.after, strict=True)
            moving |= {x for x, new in after if new in moving}
        ends = zip(operation.results, operation.carried, strict=True)
        moving |= {x for x, carried in ends if carried in moving}
    return jump
