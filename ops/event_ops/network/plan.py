"""The plan of a native run: functions of neurons, additions to receptors, and the arrays that it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import FLOAT_WEIGHTS
from event_ops.checks.csr import check_csr, event_weights
from event_ops.checks.packed_entries import check_parts, equal_starts
from event_ops.codegen.function import Traced
from event_ops.codegen.operators import noted_calls
from event_ops.network.inputs import Given
from event_ops.network.layout import Arrivals, Layout, empty_receptors, float_of
from event_ops.network.learning_plan import Learning, learning_of
from event_ops.network.parts import Population
from event_ops.network.projections import Projection
from event_ops.network.reference import noise_of
from event_ops.network.states import State
from event_ops.sparse.compact import CompactCSR

Arrays = dict[str, Any]


class NoNativeRunError(Exception):
    """A network has no native run; the message is the reason, a clause."""


@dataclass(frozen=True)
class Neurons:
    """Hold the step of a population.

    Args:
        neuron: the function of one neuron.
        noise: the distributions of what it draws.
        states: their names, in order.
        variables: for each, the receptor that it is, or "" where the population has an array of it.
    """

    neuron: Traced
    noise: tuple[str, ...]
    states: tuple[str, ...]
    variables: tuple[str, ...]


@dataclass(frozen=True)
class Sums:
    """Hold the additions to a receptor of a population: inputs, and projections with their sources."""

    population: int
    receptor: str
    inputs: tuple[tuple[int, str], ...]  # place and kind
    projections: tuple[tuple[int, int, int], ...]  # place, source, and how many arrays its matrix has


@dataclass(frozen=True)
class Plan:
    """Hold a run without sizes and values, which its kernel is compiled for; populations go by number."""

    populations: tuple[Neurons, ...]
    sums: tuple[Sums, ...]
    recorded: tuple[tuple[int, str], ...]
    learning: tuple[Learning, ...] = ()

    def is_state(self, sums: Sums) -> bool:
        """Return whether sums add to a state, so behind the step."""
        return sums.receptor in self.populations[sums.population].states


def changed(plan: Plan) -> list[str]:
    """Return the names of arrays that a run updates: states, histories, weights and traces."""
    each = enumerate(plan.populations)
    states = [f"state{p}_{k}" for p, part in each for k in range(len(part.states))]
    histories = [f"history{p}" for p in range(len(plan.populations))]
    return [*states, *histories, *(name for part in plan.learning for name in part.changed)]


def outputs(plan: Plan) -> list[str]:
    """Return the names of all outputs of a run."""
    return [*changed(plan), "times", "ids", "num_spikes", *(f"trace{r}" for r in range(len(plan.recorded)))]


def lacks(network: Any, state: State, *, on_gpu: bool) -> str:
    """Return why a network has no native run, on a GPU if `on_gpu`, as a clause, or ""."""
    try:
        plan_of(network, state, {}, 1, on_gpu=on_gpu)
    except NoNativeRunError as reason:
        return str(reason)
    return ""


def plan_of(
    network: Any,
    state: State,
    values: Mapping[str, jax.Array],
    steps: int,
    *,
    on_gpu: bool = False,
    surrogates: bool = False,
) -> tuple[Plan, Arrays]:
    """Return the plan of a run from this state, and name -> array that its kernel reads.

    `on_gpu`: whether the kernel is that of a GPU, which lacks some; `surrogates`: whether spikes may be
    numbers. Raises NoNativeRunError.
    """
    if on_gpu:
        _check_gpu(network, state)
    layout: Layout = network.layout
    numbers = {name: number for number, name in enumerate(layout.populations)}
    given = Given(state.seed, state.step, steps, values)
    arrays: Arrays = {"begin": state.step, "steps": np.int32(steps), "every": np.int32(network.record.every)}
    arrays["first"] = np.array([*layout.first.values(), layout.total], np.int32)
    neurons = layout.named(state.neurons)
    stepped = [_noted(layout, name, neurons[name], state, arrays, surrogates) for name in layout.populations]
    matrices = [matrix_of(part) for part in network.projections]
    sums = [_sums_of(x, layout, numbers, neurons[x.target], given, arrays, matrices) for x in layout.arrivals]
    for place, part in enumerate(network.projections):
        arrays |= {f"matrix{place}_{k}": x for k, x in enumerate(matrices[place])}
        arrays[f"ages{place}"] = np.array(part.ages, np.int32)
    recorded = []
    for name, chosen in layout.named(network.record.states).items():
        for key, ids in chosen.items():
            arrays[f"chosen{len(recorded)}"] = ids
            recorded.append((numbers[name], key))
    learning = [
        learning_of(place, part, numbers, state.synapses[place], arrays)
        for place, part in enumerate(network.projections)
        if part.plasticity is not None
    ]
    return Plan(tuple(stepped), tuple(sums), tuple(recorded), tuple(learning)), arrays


def _check_gpu(network: Any, state: State) -> None:
    """Raise NoNativeRunError if a network has what the kernel of a GPU lacks."""
    if any(isinstance(part.A, jax.Array) for part in network.projections):
        raise NoNativeRunError("the matrix of a projection is a 2-d array, which the kernel of a GPU lacks")
    neurons = network.layout.named(state.neurons)
    for name, chosen in network.layout.named(network.record.states).items():
        if chosen.keys() - neurons[name].keys():
            raise NoNativeRunError("spikes are recorded as counts, which the kernel of a GPU lacks")


def matrix_of(part: Projection) -> tuple[Any, ...]:
    """Return the weights of a dense matrix, (data, indices, indptr), or (entries, indptr, scale, starts)."""
    A = part.A
    if isinstance(A, jax.Array):
        return (A,)
    if isinstance(A, CompactCSR):
        entries, ends, scale = part.words
        check_parts(entries, ends, scale, None, part.shape, len(part.ages))
        return entries, ends, scale, equal_starts(part.shape[1], len(ends))
    check_csr(A.data, A.indices, A.indptr, A.shape, FLOAT_WEIGHTS)
    return event_weights(A.data, A.indices, part.dtype), A.indices, A.indptr


def _noted(
    layout: Layout, name: str, states: dict[str, jax.Array], state: State, arrays: Arrays, surrogates: bool
) -> Neurons:
    """Return the step of a population; add its parameters to the arrays."""
    population, number = layout.populations[name], list(layout.populations).index(name)
    receptors = empty_receptors(layout, name, states)
    given = receptors | noise_of(layout, name, state.seed, state.step)
    with noted_calls() as notes:
        new, spikes = population.step(states, given)
    _check_noted(population, notes, states, new, spikes)
    if spikes.dtype != bool and not surrogates:
        raise NoNativeRunError(f"the spikes of {_model(population)} are numbers, as with a surrogate")
    inputs, static = notes[0].inputs, notes[0].static
    neuron, noise = static["neuron"], static.get("noise", ())
    count = len(neuron.places) - len(noise)
    variables = []
    # By identity: a receptor that went through an operation is another array.
    for k, x in enumerate(inputs[neuron.positional : count]):
        receptor = next((key for key, zeros in receptors.items() if x is zeros), "")
        variables.append(receptor)
        if not receptor:
            arrays[f"given{number}_{k}"] = x
    if set(receptors) - set(variables):
        raise NoNativeRunError(f"{_model(population)} computes before or behind the step of its neurons")
    if noise:
        arrays[f"seed{number}"], _, arrays[f"origin{number}"], arrays[f"table{number}"] = inputs[count:]
    return Neurons(neuron, noise, tuple(new), tuple(variables))


def _check_noted(
    population: Population, notes: Any, states: Any, new: dict[str, jax.Array], spikes: jax.Array
) -> None:
    """Raise NoNativeRunError unless a model is one call of a function of neurons, and nothing else."""
    if len(notes) != 1:
        raise NoNativeRunError(f"{_model(population)} calls {len(notes)} steps of neurons, not one")
    inputs, results = notes[0].inputs, notes[0].results
    taken = all(x is states[name] for x, name in zip(inputs, new, strict=False))
    made = all(x is y for x, y in zip((*new.values(), spikes), results, strict=False))
    if not (taken and made):
        raise NoNativeRunError(f"{_model(population)} computes before or behind the step of its neurons")


def _model(population: Population) -> str:
    return f"the model {getattr(population.model, '__name__', repr(population.model))}"


def _sums_of(
    arrivals: Arrivals,
    layout: Layout,
    numbers: dict[str, int],
    states: Any,
    given: Given,
    arrays: Arrays,
    matrices: Sequence[tuple[Any, ...]],
) -> Sums:
    """Return the additions to a receptor; add the arrays of its inputs."""
    receptor, size = arrivals.receptor, layout.populations[arrivals.target].size
    dtype = states[receptor].dtype if receptor in states else float_of(states)
    for place, part in arrivals.inputs:
        more = part.arrays(place, size, dtype, given)
        arrays |= {f"{name}{place}": x for name, x in more.items()}
    projections = tuple(
        (place, numbers[part.source], len(matrices[place])) for place, part in arrivals.projections
    )
    inputs = tuple((place, part.kind) for place, part in arrivals.inputs)
    return Sums(numbers[arrivals.target], receptor, inputs, projections)
