"""The functions that a network calls, as they are now: a run is compiled anew where one has changed."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from event_ops.codegen.contents import contents_of
from event_ops.codegen.identity import identity_of
from event_ops.codegen.operators import noted_calls
from event_ops.network.layout import Layout, empty_receptors
from event_ops.network.reference import noise_of
from event_ops.network.states import State


@dataclass(frozen=True)
class Functions:
    """Hold the identity of models and rules: part of the key by which a compiled run is found again.

    The structure of a network has the functions as objects, which stay the same where a helper that they
    call is defined again, or a number that they read is set.
    """

    is_exact: ClassVar = True  # as identities are

    identity: Hashable

    @classmethod
    def of(cls, network: Any, state: State) -> "Functions":
        """Return the functions of a network and a state that fit each other."""
        layout, neurons = network.layout, network.layout.named(state.neurons)
        models = tuple(_model(layout, name, neurons[name], state) for name in layout.populations)
        rules = tuple(
            part.plasticity.traced(axis, part.A, synapses)[0]
            for part, synapses in zip(network.projections, state.synapses, strict=False)
            if part.plasticity is not None
            for axis, rule in enumerate((part.plasticity.on_pre, part.plasticity.on_post))
            if rule is not None
        )
        return cls((models, rules))


def _model(layout: Layout, name: str, states: dict[str, jax.Array], state: State) -> Hashable:
    """Return the identity of a model and its parameters, or where these may change in place, its contents."""
    population = layout.populations[name]
    identity = identity_of((population.model, tuple(x for _, x, _ in population.numbers)))
    if identity is not None:
        return identity
    given = empty_receptors(layout, name, states) | noise_of(layout, name, state.seed, state.step)
    with noted_calls() as notes:
        step = jax.make_jaxpr(lambda population, *args: population.step(*args))(population, states, given)
    return contents_of(step), tuple(note.static["neuron"] for note in notes)
