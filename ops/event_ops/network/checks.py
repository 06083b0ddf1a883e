"""Check a network when it is made, and a state when it is run; errors name the part."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_shape, is_known
from event_ops.checks.inputs import is_number
from event_ops.codegen.function import name_of
from event_ops.network.inputs import Input, PoissonInput, SpikeInput, TimedInput
from event_ops.network.layout import ONLY, Arrivals, Layout, float_of
from event_ops.network.learning import first_synapses
from event_ops.network.parts import SPIKES, Population, Record
from event_ops.network.projections import Projection
from event_ops.network.states import State
from event_ops.neurons.model import REFRACTORY
from event_ops.neurons.step import NeuronStep

_LAST = np.iinfo(np.int32).max


def check_parts(
    populations: Mapping[str, Any], projections: Sequence[Any], inputs: Sequence[Any], record: Any
) -> None:
    """Raise unless parts are of their kinds, and matrices fit the populations that they connect."""
    lists: dict[str, Any] = {"projections": projections, "inputs": inputs}
    for name, parts in lists.items():
        if not isinstance(parts, Sequence):
            raise TypeError(f"{name} is of type {type(parts).__name__}; expected a list of parts")
    _check_kinds("neurons", populations.values(), Population)
    _check_kinds("projections", projections, Projection)
    _check_kinds("inputs", inputs, PoissonInput, TimedInput, SpikeInput)
    _check_kinds("record", [record], Record)
    if not populations or (ONLY in populations and len(populations) > 1):
        raise ValueError("neurons is an empty dictionary, or has an empty name; expected name -> Population")
    if sum(x.size for x in populations.values()) > _LAST:
        raise ValueError(f"there are more neurons than int32 can count, {_LAST}")
    names = [part.name for part in inputs if isinstance(part, TimedInput)]
    if len(names) > len(set(names)):
        raise ValueError(f"inputs have the names {', '.join(names)}; expected a name for each TimedInput")
    for part in inputs:
        _check_names(part, populations, "target")
    for part in projections:
        _check_names(part, populations, "source", "target")
        expected = populations[part.source].size, populations[part.target].size
        if part.shape != expected:
            raise ValueError(
                f"the matrix of {_said(part)} has shape {part.shape}; expected {expected}: "
                "a row for each neuron that sends, a column for each that receives"
            )


def _check_kinds(name: str, parts: Any, *kinds: type) -> None:
    for part in parts:
        if not isinstance(part, kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"{name} has a {type(part).__name__}; expected {expected}")


def _check_names(part: Any, populations: Mapping[str, Population], *roles: str) -> None:
    for role in roles:
        name = getattr(part, role)
        if name not in populations:
            known = "none: there is only one" if ONLY in populations else ", ".join(map(repr, populations))
            raise ValueError(f"{role}={name!r} of {_said(part)} is no population; expected {known}")


def _said(part: Any) -> str:
    """Return how errors name an input or a projection."""
    roles = [role for role in ("source", "target") if getattr(part, role, ONLY)]
    ends = [f"{role}={getattr(part, role)!r}" for role in roles]
    return f"{type(part).__name__}({', '.join([repr(part.receptor), *ends])})"


def check_steps(steps: int, record: Record) -> int:
    """Return the number of steps; raise unless it is one, and there is a whole number of rows of states."""
    if not 1 <= steps <= _LAST:
        raise ValueError(f"steps is {steps}; expected at least 1, and below 2**31")
    if record.states and steps % record.every:
        raise ValueError(f"steps is {steps}; expected a multiple of every={record.every}, for whole rows")
    return steps


def check_state(state: Any, layout: Layout, record: Record, steps: int = 0) -> None:
    """Raise unless the state is one of the network, and all parts fit it."""
    if not isinstance(state, State):
        raise TypeError(f"state is a {type(state).__name__}; expected what Network.state or a run returns")
    for path, x in jax.tree_util.tree_leaves_with_path(state):
        if not isinstance(x, jax.Array | np.ndarray | np.generic | jax.ShapeDtypeStruct):
            place = jax.tree_util.keystr(path)
            raise TypeError(
                f"state{place} is or contains a {type(x).__name__}; expected arrays, as Network.state makes "
                "them: jnp.asarray, in the dtype that it had"
            )
    neurons, history = layout.named(state.neurons), layout.named(state.history)
    for name, population in layout.populations.items():
        if name not in neurons or name not in history:
            known = ", ".join(layout.populations)
            raise ValueError(f"the state has no population {name!r}; expected {known}")
        _check_states(population, neurons[name], name)
        expected = layout.slots[name], -(-population.size // 32)
        check_shape("history", history[name], expected, why="what Network.state of this network makes")
        check_dtype("history", history[name], ("uint32",))
    for arrivals in layout.arrivals:
        _check_receptor(arrivals, layout.populations[arrivals.target], neurons[arrivals.target])
    for name, population in layout.populations.items():
        receptors = [arrivals.receptor for arrivals in layout.arrivals if arrivals.target == name]
        _check_call(population, neurons[name], receptors, name)
    check_synapses(state.synapses, layout.projections)
    for name, chosen in layout.named(record.states).items():
        if name not in neurons:
            raise ValueError(f"Record has states of {name!r}, which is no population")
        for key, ids in chosen.items():
            _check_ids(key, ids, neurons[name], layout.populations[name].size)
    for name, x, dtype in (("step", state.step, "int32"), ("seed", state.seed, "uint32")):
        check_dtype(name, x, (dtype,))
        check_shape(name, x, (), why="one number; a batch of states goes through jax.vmap")
    if is_known(state.step) and int(state.step) < 0:
        raise ValueError(
            f"step is {int(state.step)}; expected >= 0, as steps are counted from the first state"
        )
    if is_known(state.step) and int(state.step) > _LAST - steps:
        raise ValueError(f"step is {int(state.step)}, and int32 counts to {_LAST}; begin anew with step 0")


def check_named(neurons: Any, layout: Layout) -> None:
    """Raise unless first values are by name of the state, or, of several populations, of the population."""
    names = [*layout.populations] if ONLY not in layout.populations else []
    expected = (
        f"a dictionary for each population: {', '.join(map(repr, names))}" if names else "name -> state"
    )
    if not isinstance(neurons, Mapping):
        raise TypeError(f"neurons is of type {type(neurons).__name__}; expected {expected}")
    nested = [isinstance(x, Mapping) for x in neurons.values()]
    if not (set(neurons) == set(names) and all(nested) if names else not any(nested)):
        given = ", ".join(f"{key!r}: a {type(x).__name__}" for key, x in neurons.items())
        raise ValueError(f"neurons has {given or 'nothing'}; expected {expected}")


def _check_states(population: Population, states: Mapping[str, Any], name: str) -> None:
    model = population.model
    if isinstance(model, NeuronStep):
        expected = {*model.model.states, *([] if model.model.held is None else [REFRACTORY])}
        if set(states) != expected:
            raise TypeError(
                f"the state of the neurons{f' {name!r}' * bool(name)} has {', '.join(states) or 'nothing'}; "
                f"expected {', '.join(x for x in population.names if x in expected)}"
            )
    unknown = [x for x in states if x not in population.names]
    if unknown or not states:
        known = ", ".join(population.names)
        raise TypeError(f"the model takes no state {', '.join(unknown) or 'at all'}; it takes {known}")
    twice = [x for x in states if x in population.parameters]
    if twice:
        raise TypeError(f"{twice[0]} is a parameter of the population, and a state; expected one of both")
    for key, x in states.items():
        check_shape(key, x, (population.size,), why="one for each neuron of the population")
        if not jnp.issubdtype(x.dtype, jnp.integer):
            check_dtype(key, x, FLOATS)


def _check_call(
    population: Population, states: Mapping[str, Any], receptors: Sequence[str], name: str
) -> None:
    """Raise unless the model, if it is a function, takes all that it is given, and is given all it needs."""
    if isinstance(population.model, NeuronStep):
        return
    try:
        inspect.signature(population.model).bind(
            **dict.fromkeys([*states, *population.parameters, *receptors])
        )
    except TypeError as error:
        given = {"states": states, "parameters": population.parameters, "receptors": receptors}
        described = ", ".join(f"{kind} {', '.join(x) or 'none'}" for kind, x in given.items())
        raise TypeError(
            f"the model {name_of(population.model)}{f' of {name!r}' * bool(name)} does not take what it is "
            f"given: {error}; given are {described}; a population takes parameters by name, Network.state "
            "first values of states"
        ) from None


def _check_receptor(arrivals: Arrivals, population: Population, states: Mapping[str, Any]) -> None:
    parts = [x for _, x in (*arrivals.inputs, *arrivals.projections)]
    name, said = arrivals.receptor, _said(parts[0])
    is_state = name in states
    known = [x for x in population.names if x not in population.parameters and x not in population.drawn]
    if name not in known:
        what = "a parameter of the population" if name in population.parameters else "unknown to the model"
        raise ValueError(f"the receptor of {said} is {what}; expected one of {', '.join(known)}")
    dtype = states[name].dtype if is_state else float_of(states)
    for _, part in arrivals.projections:
        if part.min_delay == 0 and not is_state:
            raise ValueError(
                f"{_said(part)} has a delay of 0, and its receptor is a variable, which is read before the "
                "spikes of a step are known; expected delay >= 1, or a state"
            )
        if part.plasticity is not None and part.plasticity.returns_at_once and not is_state:
            raise ValueError(
                f"{_said(part)} learns with a post_delay of 0, and its receptor is a variable, which "
                "is read before the spikes of a step are known; expected post_delay >= 1, or a state"
            )
        if part.dtype != dtype:
            raise TypeError(
                f"the matrix of {_said(part)} has dtype {part.dtype}; expected that of {name}, {dtype}; cast "
                f"its weights: .astype('{dtype}')"
            )
    for _, part in arrivals.inputs:
        _check_input(part, name, dtype, population.size)


def _check_input(part: Input, name: str, dtype: Any, size: int) -> None:
    """Raise unless mean, weight and ids of an input fit a population of this size."""
    if isinstance(part, TimedInput):
        return
    for role, value in (
        ("mean", part.mean if isinstance(part, PoissonInput) else 0),
        ("weight", part.weight),
    ):
        if np.shape(value) not in ((), (size,)):
            raise ValueError(
                f"the {role} of {_said(part)} has shape {np.shape(value)}; expected () or "
                f"({size},): one for all, or one for each neuron"
            )
    # A number that was passed to a traced function is weakly typed there.
    is_weak = is_number(part.weight) or part.weight.weak_type
    if not is_weak and part.weight.dtype != dtype:
        raise TypeError(
            f"the weight of {_said(part)} has dtype {part.weight.dtype}; expected {dtype}, as {name} has"
        )
    if isinstance(part, SpikeInput) and is_known(part.ids) and part.ids.size and part.ids.max() >= size:
        raise ValueError(f"{_said(part)} has ids up to {part.ids.max()}; expected them in [0, {size})")


def check_inputs(
    inputs: Sequence[Input], given: Mapping[str, Any], layout: Layout, state: State, steps: int
) -> dict[str, jax.Array]:
    """Return name -> values of inputs in these steps; raise unless each `TimedInput` has them."""
    timed = {part.name: part for part in inputs if isinstance(part, TimedInput)}
    if given.keys() != timed.keys():
        found, expected = (", ".join(map(repr, names)) or "none" for names in (given, timed))
        raise ValueError(
            f"inputs of the run are {found}; expected {expected}: the values of each TimedInput by its name"
        )
    values = {}
    for name, part in timed.items():
        values[name] = as_array(given[name], name)
        states, size = layout.named(state.neurons)[part.target], layout.populations[part.target].size
        rows = part.rows(steps)
        why = f"a row for each {part.every} of {steps} steps, and a column for each neuron, or for all"
        check_shape(f"inputs[{name!r}]", values[name], (rows, size), (rows, 1), why=why)
        dtype = states[part.receptor].dtype if part.receptor in states else float_of(states)
        check_dtype(f"inputs[{name!r}]", values[name], (str(dtype),))
    return values


def check_synapses(synapses: Any, projections: Sequence[Projection]) -> None:
    """Raise unless there are weights and traces of each projection that learns."""
    expected = jax.eval_shape(lambda: first_synapses(projections))
    if len(synapses) != len(expected):
        raise ValueError(f"the state has synapses of {len(synapses)} projections; expected {len(expected)}")
    for part, given, like in zip(projections, synapses, expected, strict=False):
        if set(given) != set(like):
            raise ValueError(
                f"the synapses of {_said(part)} have {', '.join(given) or 'nothing'}; "
                f"expected {', '.join(like) or 'nothing'}"
            )
        for name, x in like.items():
            check_shape(name, given[name], x.shape, why=f"as {_said(part)} has it")
            check_dtype(name, given[name], (str(x.dtype),))


def _check_ids(key: str, ids: np.ndarray, states: Mapping[str, Any], size: int) -> None:
    if key not in states and key != SPIKES:
        raise ValueError(f"Record has the state {key!r}; expected one of {', '.join(states)}, or {SPIKES!r}")
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        raise ValueError(
            f"Record has ids of {key} from {ids.min()} to {ids.max()}; expected them in [0, {size})"
        )
