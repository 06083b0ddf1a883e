"""States of a synapse that decay by themselves: advanced by their closed form when the synapse is visited."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

TIME: Final = "t"
_LAST: Final = "last"


def decayed(x: ArrayLike, last: ArrayLike, t: ArrayLike, tau: ArrayLike) -> jax.Array:
    """`x * exp((last - t) / tau)`: the rest at time t of x, which had this value at the time `last`.

    For arrays, as where all synapses are read, and for numbers, as in a rule.

    Args:
        x: (...), float32 or float64.
        last: of a shape that broadcasts with x, the time of its last change; dtype of x.
        t: the time, as `last` is.
        tau: time constant, > 0; in the unit of t.

    Returns:
        x: (...); dtype of x.

    Raises:
        TypeError: x and others of dtypes that do not go together.
        ValueError: shapes that do not broadcast.
    """
    return jnp.multiply(x, jnp.exp(jnp.subtract(last, t) / tau))


def decaying(
    rule: Callable[..., Any], *, since: str | None = None, **taus: str | float
) -> Callable[..., Any]:
    """`x = rule(x * exp((last - t) / tau), ...)`: a rule some of whose synaptic states decay between visits.

    A state that decays exponentially need not be touched at each step: it is advanced to the present by its
    closed form when its synapse is visited next, so that the cost follows the number of spikes, and the
    result is that of a decay of all synapses at every step, to rounding. The rule itself knows nothing of it.
    The new rule, for `on_pre` and `on_post`, takes one more synaptic variable, the last: the time of the
    visit before, which is to begin as the time of the first values; and by name the time t of this visit.
    `decayed` reads states at any time.

    The time is a number of the dtype of the states: counted in steps, float32 has it exactly up to 2**24,
    28 minutes of 0.1 ms each; behind that, t + 1 is t, and nothing decays. Before then, subtract the same
    number from t and from all time stamps, or use float64.

    Args:
        rule: as for `on_pre`; its synaptic variables are its parameters by position, before the star.
        since: where all visits are those of one neuron's spikes, as if there is on_pre alone, the time stamp
            may be one of the neuron: the name of a variable, such as "last_pre". It is given by name, and
            there is no further synaptic variable; set it after the visit: `jnp.where(spikes, t, last_pre)`.
        taus: for each state that decays, by its name in the rule, the time constant: a number, or the name of
            a variable, which is given at the call, as tau_c is by `c="tau_c"`.

    Returns:
        The new rule.

    Raises:
        TypeError: a time constant that is no number and no name.
        ValueError: no time constant, or one for what is no synaptic variable of the rule; a variable of the
            rule with a name that is needed here.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import plasticity
        >>> def eligible(c, *, x_post):
        ...     return c + x_post
        >>> rule = plasticity.decaying(eligible, c=20.0)
        >>> c = last = jnp.zeros((1, 1))
        >>> for t in (3.0, 23.0):
        ...     c, last = plasticity.on_pre(rule, (c, last), spikes_pre=jnp.array([True]), x_post=1.0, t=t)
        >>> c  # 1 + exp(-1)
        Array([[1.3678794]], dtype=float32)

    Source: Morrison, Diesmann and Gerstner (2008), Biol. Cybern. 98, 459-478: events update what decays.
    """
    parameters = inspect.signature(rule).parameters.values()
    by_position = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    # Tuples, not lists: what can change in place would have the rule traced at each call.
    names = tuple(x.name for x in parameters if x.kind in by_position)
    by_name = tuple(x.name for x in parameters if x.kind == x.KEYWORD_ONLY)
    _check(rule, names, since, taus)
    places = tuple((names.index(name), tau) for name, tau in taus.items())

    @functools.wraps(rule)
    def visited(*synapses: Any, **variables: Any) -> Any:
        states, t = list(synapses[: len(names)]), variables[TIME]
        last = variables[since] if since else synapses[-1]
        for place, tau in places:
            constant = variables[tau] if isinstance(tau, str) else tau
            states[place] = decayed(states[place], last, t, constant)
        new = rule(*states, **{name: variables[name] for name in by_name})
        if since:
            return new
        return (*new, t) if isinstance(new, tuple | list) else (new, t)

    stamp, at_neuron = ((), (since,)) if since else ((_LAST,), ())
    more = TIME, *(tau for _, tau in places if isinstance(tau, str)), *at_neuron
    # By its signature a rule says what it takes: `wraps` would show the one of the old rule.
    visited.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [Parameter(name, Parameter.POSITIONAL_ONLY) for name in (*names, *stamp)]
        + [Parameter(name, Parameter.KEYWORD_ONLY) for name in dict.fromkeys((*by_name, *more))]
    )
    return visited


def _check(rule: Any, names: tuple[str, ...], since: str | None, taus: dict[str, Any]) -> None:
    described = (
        f"the rule {getattr(rule, '__name__', rule)!r}, whose synaptic variables are {', '.join(names)}"
    )
    if not taus:
        raise ValueError(f"no state of {described}, is to decay; expected a time constant: {names[0]}=20.0")
    for name, tau in taus.items():
        if name not in names:
            raise ValueError(
                f"{name} is no synaptic variable of {described}; such ones are in front of `*`: "
                "def rule(w, c, *, ...)"
            )
        if not isinstance(tau, str | int | float):
            raise TypeError(
                f"{name} decays with {tau!r}; expected a number, or the name of a variable that is passed to "
                f'on_pre or on_post: {name}="tau"'
            )
    if not since and _LAST in names:
        raise ValueError(
            f"{described}, has one called {_LAST}, the time stamp's name; call it by another name"
        )
