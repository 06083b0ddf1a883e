"""The layout of a network: populations by name, additions to receptors, places in lists of all neurons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp

from event_ops.network.inputs import Input
from event_ops.network.parts import Population
from event_ops.network.projections import Projection

ONLY: Final = ""  # the name of the population of a network that has one


class Arrivals(NamedTuple):
    """Hold the inputs and projections of one receptor in order, with their places in the network."""

    target: str
    receptor: str
    inputs: tuple[tuple[int, Input], ...]
    projections: tuple[tuple[int, Projection], ...]


@dataclass(frozen=True)
class Layout:
    """Hold the populations of a network by name, and their places in shared lists.

    Args:
        first: the id of its first neuron in lists of all.
        slots: how many rows its history has: as many steps as its spikes are under way, and one.
        total: the number of all neurons.
        projections: all of them.
        arrivals: of each receptor, in the order in which they are first named.
    """

    populations: dict[str, Population]
    first: dict[str, int]
    slots: dict[str, int]
    total: int
    projections: tuple[Projection, ...]
    arrivals: tuple[Arrivals, ...]

    @classmethod
    def of(
        cls, populations: Mapping[str, Population], inputs: Sequence[Input], projections: Sequence[Projection]
    ) -> Layout:
        """Return the layout of a network of these parts."""
        first, total = {}, 0
        for name, population in populations.items():
            first[name], total = total, total + population.size
        slots = {name: 1 + max(_under_way(name, projections), default=0) for name in populations}
        receptors = dict.fromkeys((x.target, x.receptor) for x in (*inputs, *projections))
        arrivals = tuple(
            Arrivals(*receptor, _of(receptor, inputs), _of(receptor, projections)) for receptor in receptors
        )
        return cls(dict(populations), first, slots, total, tuple(projections), arrivals)

    def named(self, values: Any) -> dict[str, Any]:
        """Return values by the name of their population, which is ONLY where there is one."""
        return {ONLY: values} if ONLY in self.populations else dict(values)

    def nested(self, values: Mapping[str, Any]) -> Any:
        """Return values by name as they are given: without a name where there is one population."""
        return values[ONLY] if ONLY in self.populations else dict(values)


def float_of(states: Mapping[str, jax.Array]) -> Any:
    """Return the dtype of the states that are floats, which variables have, too."""
    found = [x.dtype for x in states.values() if jnp.issubdtype(x.dtype, jnp.floating)]
    if not found:
        raise TypeError(
            f"the states {', '.join(states)} of the neurons are integers, and variables and counts of spikes "
            "have the dtype of a state; expected one of float32 or float64"
        )
    return found[0]


def empty_receptors(layout: Layout, name: str, states: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    """Return zeros for each variable of a population in which something arrives."""
    return {
        x.receptor: jnp.zeros(layout.populations[name].size, float_of(states))
        for x in layout.arrivals
        if x.target == name and x.receptor not in states
    }


def recorded_dtype(states: Mapping[str, jax.Array], key: str) -> Any:
    """Return the dtype of a recorded state, or of counts of spikes."""
    return states[key].dtype if key in states else float_of(states)


def _under_way(name: str, projections: Sequence[Projection]) -> Iterator[int]:
    """Return the delays of the spikes of a population, on their way out and back."""
    for part in projections:
        if part.source == name:
            yield max(part.ages)
        if part.plasticity is not None and part.target == name:
            yield part.plasticity.post_delay


def _of(receptor: tuple[str, str], parts: Sequence[Any]) -> tuple[tuple[int, Any], ...]:
    return tuple((k, x) for k, x in enumerate(parts) if (x.target, x.receptor) == receptor)
