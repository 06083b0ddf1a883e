"""The parts of a network but for its inputs and synapses: populations, and the record."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import FLOATS, as_array, is_known
from event_ops.checks.inputs import is_number
from event_ops.checks.keywords import known_integer, known_size
from event_ops.codegen.function import name_of
from event_ops.neurons.model import DRAWN, REFRACTORY
from event_ops.neurons.step import NeuronStep
from event_ops.sparse.pytree import register


@dataclass(frozen=True, eq=False, init=False)
class Population:
    """`*states, spikes = model(*states, **parameters)`: neurons of one model, stepped together.

    A pytree: parameters that are arrays are leaves, numbers are static.

    Args:
        size: how many neurons there are, >= 1.
        model: what `neuron_step` returns, or a step of the catalog, such as `lif_expsyn_step`, or a function
            that is called as those are: with states and parameters by name. Spikes that it returns as floats
            count as 1 where they are not 0, with their derivatives.
        parameters: what the model takes by name beside states and receptors: numbers, or arrays of shape
            (size,); of a model with noise neither seed nor step, which the network gives. With a `surrogate`,
            from `event_ops.surrogate`, derivatives pass through its spikes.

    Raises:
        TypeError: size is no integer, or a parameter no number or array.
        ValueError: size < 1.
    """

    size: int
    model: Callable[..., Any]
    numbers: tuple[tuple[str, Any, str], ...]
    arrays: dict[str, jax.Array]

    def __init__(self, size: int, model: Callable[..., Any], /, **parameters: Any) -> None:
        count = known_size("size", size, least=1)
        # Numbers are no leaves, as those of a traced function have lost the precision in which decays are
        # computed. Their text tells 1, 1.0 and True apart, and 0.0 and -0.0, which are equal.
        numbers = {name: number(x) for name, x in parameters.items() if _is_plain(x)}
        arrays = {name: as_array(x, name) for name, x in parameters.items() if name not in numbers}
        exact = tuple((name, x, repr(x)) for name, x in numbers.items())
        vars(self).update(size=count, model=model, numbers=exact, arrays=arrays)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return name -> value of all parameters."""
        return {name: x for name, x, _ in self.numbers} | self.arrays

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that the model takes, of states in the order in which it returns them."""
        if isinstance(self.model, NeuronStep):
            held = () if self.model.model.held is None else (REFRACTORY,)
            return (*self.model.model.states, *held, *self.model.model.variables)
        return tuple(inspect.signature(self.model).parameters)

    @property
    def drawn(self) -> tuple[str, ...]:
        """Return the names of seed, step and first, where a model with noise takes them."""
        is_noisy = isinstance(self.model, NeuronStep) and self.model.model.noise
        return tuple(DRAWN) if is_noisy else ()

    def step(
        self, states: Mapping[str, jax.Array], variables: Mapping[str, Any]
    ) -> tuple[dict[str, jax.Array], jax.Array]:
        """Return the states after a step, and the spikes; raise where the model returns something else."""
        ordered = [name for name in self.names if name in states]
        if isinstance(self.model, NeuronStep):
            returned = self.model(*(states[name] for name in ordered), **self.parameters, **variables)
        else:
            returned = self.model(**states, **self.parameters, **variables)
        *new, spikes = [x for x in returned if not isinstance(x, dict)]  # without observed values
        if len(new) != len(ordered):
            raise ValueError(
                f"the model {name_of(self.model)} returns {len(new)} state(s) and the spikes; the state of "
                f"its neurons has {', '.join(ordered)}; expected one for each"
            )
        # A block of the neurons, as a device has it, may be stepped, too.
        shape = next((states[name].shape for name in ordered), (self.size,))
        for name, x in zip((*ordered, "spikes"), (*new, spikes), strict=True):
            dtype = states[name].dtype if name in states else jnp.result_type(x)
            if name == SPIKES and dtype not in ("bool", *FLOATS):
                raise TypeError(
                    f"the model {name_of(self.model)} returns spikes of dtype {dtype}; expected bool, or "
                    "float32 or float64 that carry the derivative of a surrogate; say who spikes: spikes > 0"
                )
            if jnp.shape(x) != shape or jnp.result_type(x) != dtype:
                raise ValueError(
                    f"the model {name_of(self.model)} returns {name} of shape {jnp.shape(x)} and dtype "
                    f"{jnp.result_type(x)}; expected {shape}, one for each neuron, and {dtype}"
                )
        return dict(zip(ordered, new, strict=True)), spikes


register(Population, ("arrays",), ("size", "model", "numbers"), "event_ops.network.Population")


def _is_plain(x: Any) -> bool:
    return not isinstance(x, jax.Array) and (x is None or is_number(x) or isinstance(x, str) or callable(x))


def number(x: Any) -> Any:
    """Return x; of an array without dimensions, which could change and has no hash, the number."""
    return x[()] if isinstance(x, np.ndarray) else x


SPIKES: Final = "spikes"  # the name of counts of spikes among recorded states


@dataclass(frozen=True, init=False)
class Record:
    """Choose the record of a run: spikes as a list, and states of some neurons. It is static.

    Args:
        spikes: how many spikes of a run have room, >= 0. More are counted, and reported where the list is
            read.
        states: name of a state -> ids of neurons, that are known now; where the network has several
            populations, name of the population -> such a dictionary. By the name "spikes", unless a state has
            it, how many spikes each neuron had since the last row, in the dtype of the states.
        every: record states behind each so many steps, >= 1.

    Raises:
        TypeError: spikes or every is no integer, or ids are no list of integers.
        ValueError: spikes < 0 or every < 1, or an id below 0, or one of them that int32 does not hold.
    """

    spikes: int
    every: int
    text: str  # of the states, by which records are equal
    states: dict[str, Any] = field(compare=False)

    def __init__(self, *, spikes: int = 0, states: Mapping[str, Any] | None = None, every: int = 1) -> None:
        if isinstance(spikes, bool):
            raise TypeError(f"spikes is {spikes}; expected a number: how many spikes of a run have room")
        given: Any = states
        if not isinstance(given, Mapping | None):
            raise TypeError(f"states is a {type(given).__name__}; expected name of a state -> ids of neurons")
        capacity, steps = known_integer("spikes", spikes), known_integer("every", every)
        if not 0 <= capacity < 1 << 31:
            raise ValueError(
                f"spikes is {capacity}; expected >= 0, the number that has room in a run, and below 2**31"
            )
        if not 1 <= steps < 1 << 31:
            raise ValueError(f"every is {steps}; expected at least 1 step, and below 2**31")
        chosen = jax.tree.map(_ids, dict(states or {}), is_leaf=lambda x: not isinstance(x, dict))
        text = repr(jax.tree.map(lambda x: x.tolist(), chosen))
        vars(self).update(spikes=capacity, every=steps, text=text, states=chosen)


def _ids(given: Any) -> np.ndarray:
    if not is_known(given):
        raise TypeError("states has traced ids; expected a list of integers that are known now")
    ids = np.asarray(given)
    if ids.ndim != 1 or (ids.dtype.kind not in "iu" and ids.size):
        raise TypeError(
            f"states has {ids.dtype}{ids.shape} as ids; expected a list of integers that are known now, "
            "such as range(size) for all neurons"
        )
    if ids.size and (ids.min() < 0 or ids.max() > np.iinfo(np.int32).max):
        raise ValueError(f"states has ids from {ids.min()} to {ids.max()}; expected them in [0, 2**31)")
    return ids.astype(np.int32)
