"""The parts of a network: populations, projections between them, inputs, and the record."""

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import as_array, summed_in
from event_ops.checks.inputs import is_number
from event_ops.codegen.function import name_of
from event_ops.kernels.reference.poisson import check_mean
from event_ops.neurons.model import DRAWN, REFRACTORY
from event_ops.neurons.step import NeuronStep
from event_ops.sparse.compact import CompactCSR
from event_ops.sparse.csr import CSR
from event_ops.sparse.pytree import register


@dataclass(frozen=True, eq=False, init=False)
class Population:
    """`*states, spikes = model(*states, **parameters)`: neurons of one model, stepped together.

    A pytree: parameters that are arrays are leaves, numbers are static.

    Args:
        size: how many neurons there are, >= 1.
        model: what `neuron_step` returns, or a step of the catalog, such as `lif_expsyn_step`, or a function
            that is called as those are: with states and parameters by name.
        parameters: what the model takes by name beside states and receptors: numbers, or arrays of shape
            (size,); of a model with noise neither seed nor step, which the network gives.

    Raises:
        TypeError: size is no integer, or a parameter no number or array.
        ValueError: size < 1.
    """

    size: int
    model: Callable[..., Any]
    numbers: tuple[tuple[str, Any, str], ...]
    arrays: dict[str, jax.Array]

    def __init__(self, size: int, model: Callable[..., Any], /, **parameters: Any) -> None:
        count = operator.index(size)
        if count < 1:
            raise ValueError(f"size is {count}; expected at least one neuron")
        # Numbers are no leaves, as those of a traced function have lost the precision in which decays are
        # computed. Their text tells 1, 1.0 and True apart, and 0.0 and -0.0, which are equal.
        numbers = {name: _plain(x) for name, x in parameters.items() if _is_plain(x)}
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
        return dict(zip(ordered, new, strict=True)), spikes


register(Population, ("arrays",), ("size", "model", "numbers"), "event_ops.network.Population")


def _is_plain(x: Any) -> bool:
    return not isinstance(x, jax.Array) and (is_number(x) or isinstance(x, str) or callable(x))


def _plain(x: Any) -> Any:
    return x[()] if isinstance(x, np.ndarray) else x


@dataclass(frozen=True, eq=False, init=False)
class Projection:
    """`receptor[j] += A[i, j]` for each spike of neuron i, `delay` steps later: synapses between populations.

    A pytree, whose leaf is the matrix.

    Args:
        A: CSR or CompactCSR; rows are neurons that send, columns neurons that receive. Weights are in the
            unit and dtype of the receptor.
        receptor: the name of a state or variable of the model that receives. To a state the weight is added
            behind the step of the neurons, as NEST adds to currents. A variable, like the `jump` of delta
            synapses, is the sum of what arrives in a step, 0 where nothing does.
        delay: in steps, the same for all, or (nse,) of integers that are known now, one for each entry of A.
            A spike of step t arrives in step t + delay; so with a delay of 0 it is added behind its own step,
            as Brian2 does without delay, and a variable takes at least 1.
        source, target: names of the populations, where the network has several.

    Raises:
        TypeError: A is no such matrix, or a delay no integer.
        ValueError: A is read transposed, a delay is below 0, there are as many as A has no entries, or there
            is one for each word of a matrix in parts.
    """

    A: CSR | CompactCSR
    receptor: str
    ages: tuple[int, ...]
    source: str
    target: str

    def __init__(
        self, A: CSR | CompactCSR | Any, receptor: str, *, delay: Any, source: str = "", target: str = ""
    ) -> None:
        if not isinstance(A, CSR | CompactCSR):
            raise TypeError(
                f"A is a {type(A).__name__}; expected a CSR or CompactCSR matrix, rows = source, "
                "columns = target; A.tocsr() makes one of other formats"
            )
        if A.transposed:
            raise ValueError("A is read transposed; expected rows = source, as stored; use A.tocsr()")
        delays = np.asarray(delay)
        if delays.dtype.kind not in "iu":
            raise TypeError(f"delay has dtype {delays.dtype}; expected integers, in steps")
        if delays.shape not in ((), (A.nse,)):
            raise ValueError(f"delay has shape {delays.shape}; expected () or ({A.nse},), one for each entry")
        if delays.size and delays.min() < 0:
            raise ValueError(f"delay is or contains {delays.min()}; expected >= 0, in steps")
        by_delay, ages = _by_delay(A, delays) if delays.ndim else (A, (int(delays),))
        vars(self).update(A=by_delay, receptor=receptor, ages=ages, source=source, target=target)

    @property
    def shape(self) -> tuple[int, int]:
        """How many neurons send, and how many receive."""
        rows, columns = self.A.shape
        return rows // len(self.ages), columns

    @property
    def dtype(self) -> Any:
        """The dtype in which arrivals are summed."""
        return self.A.dtype if isinstance(self.A, CompactCSR) else summed_in(self.A.data)

    @property
    def words(self) -> tuple[jax.Array, ...]:
        """The words of a CompactCSR, where rows end in each part, and the scale, or one of each neuron."""
        if not isinstance(self.A, CompactCSR):
            return ()
        A = self.A
        ends = A.indptr if A.indptr.ndim > 1 else A.indptr[None]
        return A.entries, ends, A.scale[:: len(self.ages)] if A.scale.ndim else A.scale


register(Projection, ("A",), ("receptor", "ages", "source", "target"), "event_ops.network.Projection")


def _by_delay(A: CSR | CompactCSR, delays: np.ndarray) -> tuple[CSR | CompactCSR, tuple[int, ...]]:
    """Return the matrix with a row for each neuron and delay, and the delays in the order of a history.

    Row i * slots + d is what neuron i sends with a delay of d, as `csr_event_arrivals` takes it; in slot 0 of
    its history are the spikes of now, then those of slots - 1 steps ago, and so on to the last step's.
    """
    (rows, columns), slots = A.shape, int(delays.max(initial=0)) + 1
    if A.indptr.ndim > 1:
        raise ValueError(f"A has {len(A.indptr)} parts; expected one delay for all, or a CSR matrix")
    sources = np.repeat(np.arange(rows), np.diff(np.asarray(A.indptr)))
    row = sources * slots + delays
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(rows * slots + 1)).astype(A.indptr.dtype)
    shape, ages = (rows * slots, columns), (0, *range(slots - 1, 0, -1))
    if isinstance(A, CompactCSR):
        scale = jnp.repeat(A.scale, slots) if A.scale.ndim else A.scale
        return CompactCSR(A.entries[order], ends, scale, A.error, shape=shape), ages
    data = A.data[order] if A.data.ndim else A.data
    return CSR(data, A.indices[order], ends, shape=shape, validate=False), ages


@dataclass(frozen=True, eq=False, init=False)
class PoissonInput:
    """`receptor[j] += weight * k`, k spikes of a Poisson process of neuron j's own in each step.

    A pytree, whose leaf is the weight. The numbers are those of `poisson_input` with the number of the step;
    its seed is that of the state for the first input of a network, and seed ^ (k * 0x9E3779B9) for input k.

    Args:
        receptor: the name of a state or variable, as that of a `Projection`.
        weight: what one spike adds: a number or (size,).
        mean: spikes per step that a neuron receives on average, rate * dt: a number or (size,) numbers that
            are known when the network is made, in [0, 100].
        target: the name of the population, where the network has several.

    Raises:
        TypeError: mean is a JAX array, or not of numbers.
        ValueError: mean is out of range.
    """

    receptor: str
    weight: Any
    mean: float | tuple[float, ...]
    target: str

    def __init__(self, receptor: str, *, weight: Any, mean: Any, target: str = "") -> None:
        if isinstance(mean, jax.Array):
            raise TypeError(
                "mean is a JAX array; expected numbers that become tables of the compiled code: "
                "np.asarray(mean)"
            )
        means = np.asarray(mean)
        check_mean(means)
        added = weight if is_number(weight) else as_array(weight, "weight")
        vars(self).update(receptor=receptor, weight=added, mean=_hashable(means), target=target)


register(PoissonInput, ("weight",), ("receptor", "mean", "target"), "event_ops.network.PoissonInput")


def _hashable(means: np.ndarray) -> Any:
    return tuple(means.tolist()) if means.ndim else float(means)


@dataclass(frozen=True, init=False)
class Record:
    """Choose the record of a run: spikes as a list, and states of some neurons. It is static.

    Args:
        spikes: how many spikes of a run have room, >= 0. More are counted, and reported where the list is
            read.
        states: name of a state -> ids of neurons, that are known now; where the network has several
            populations, name of the population -> such a dictionary.
        every: record states behind each so many steps, >= 1.

    Raises:
        TypeError: spikes or every is no integer, or ids are no list of integers.
        ValueError: spikes < 0 or every < 1.
    """

    spikes: int
    every: int
    text: str  # of the states, by which records are equal
    states: dict[str, Any] = field(compare=False)

    def __init__(self, *, spikes: int = 0, states: Mapping[str, Any] | None = None, every: int = 1) -> None:
        capacity, steps = operator.index(spikes), operator.index(every)
        if capacity < 0:
            raise ValueError(f"spikes is {capacity}; expected >= 0, the number that has room in a run")
        if steps < 1:
            raise ValueError(f"every is {steps}; expected at least 1 step")
        chosen = jax.tree.map(_ids, dict(states or {}), is_leaf=lambda x: not isinstance(x, dict))
        text = repr(jax.tree.map(lambda x: x.tolist(), chosen))
        vars(self).update(spikes=capacity, every=steps, text=text, states=chosen)


def _ids(given: Any) -> np.ndarray:
    ids = np.asarray(given)
    if ids.ndim != 1 or (ids.dtype.kind not in "iu" and ids.size):
        raise TypeError(f"states has {ids.dtype}{ids.shape} as ids; expected a list of integers, known now")
    return ids.astype(np.int32)
