"""The adjoint of a step of neurons: a function of one neuron, as the step is, traced and emitted as it is."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from event_ops.codegen.function import Traced
from event_ops.neurons.model import SUBJECT

_KEPT: Final = 1024  # models
_EACH: Final = "each"  # the place of what has a value for each neuron


def float_states(neuron: Traced) -> list[int]:
    """Return the places of the states that have derivatives: integers are counters."""
    return [k for k, dtype in enumerate(neuron.dtypes[: neuron.positional]) if dtype.startswith("float")]


def has_surrogate(neuron: Traced) -> bool:
    """Return whether derivatives pass through the spikes of a step."""
    return _spike_dtype(neuron) != np.bool_


def _spike_dtype(neuron: Traced) -> Any:
    return neuron.jaxpr.out_avals[neuron.positional].dtype  # pyright: ignore[reportAttributeAccessIssue]


@lru_cache(_KEPT)
def adjoint_of(neuron: Traced, wanted: tuple[int, ...]) -> Traced:
    """Return the adjoint, of cotangents of the new states, then by name what the step takes, and "spike".

    It returns the cotangents of the old states in their place, and of the `wanted` inputs.
    """
    states = float_states(neuron)
    active = (*states, *wanted)
    names = _names(neuron)
    dtypes = [np.dtype(neuron.dtypes[k]) for k in states]
    given = [np.dtype(x) for x in neuron.dtypes]
    places = [_EACH] * len(states) + list(neuron.places)
    if has_surrogate(neuron):
        names, given, places = [*names, "spike"], [*given, _spike_dtype(neuron)], [*places, _EACH]
    results = [np.dtype(neuron.dtypes[k]) for k in active]
    pulled = partial(_pulled, neuron, active)
    return Traced.of(
        pulled, [*dtypes, *given], names, places, SUBJECT, results=results, written_as=(_pulled,)
    )


@lru_cache(_KEPT)
def reach_of(neuron: Traced, wanted: tuple[int, ...]) -> Traced:
    """Return the flag of a neuron through whose spike a derivative passes: the surrogate is not 0 there."""
    active = (*float_states(neuron), *wanted)
    given = [np.dtype(x) for x in neuron.dtypes]
    reaches = partial(_reaches, neuron, active)
    return Traced.of(
        reaches,
        given,
        _names(neuron),
        neuron.places,
        SUBJECT,
        results=[np.dtype(bool)],
        written_as=(_reaches,),
    )


def _names(neuron: Traced) -> list[str]:
    return [f"x{k}" for k in range(len(neuron.dtypes))]


def _pulled(neuron: Traced, active: Sequence[int], *cotangents: jax.Array, **given: jax.Array) -> Any:
    spike = given.pop("spike", None)
    return _pull(neuron, active, [*cotangents, *([] if spike is None else [spike])], list(given.values()))


def _reaches(neuron: Traced, active: Sequence[int], **given: jax.Array) -> jax.Array:
    inputs = list(given.values())
    zeros = [jnp.zeros((), inputs[k].dtype) for k in float_states(neuron)]
    pulled = _pull(neuron, active, [*zeros, jnp.ones((), _spike_dtype(neuron))], inputs)
    passed = jnp.zeros((), bool)
    for x in pulled:
        passed |= x != 0
    return passed


def _pull(neuron: Traced, active: Sequence[int], cotangents: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """Return the cotangents of active inputs from those of the float states and of the spike."""

    def of_active(*moved: jax.Array) -> list[jax.Array]:
        values = dict(zip(active, moved, strict=True))
        after = jaxpr_as_fun(neuron.jaxpr)(*(values.get(k, x) for k, x in enumerate(inputs)))
        return [x for x in after[: neuron.positional + 1] if jnp.issubdtype(x.dtype, jnp.floating)]

    _, pull = jax.vjp(of_active, *(inputs[k] for k in active))
    return pull(list(cotangents))
