"""Inputs of a network: additions to receptors from outside, beside the spikes of its projections.

Each kind has `add`, which defines it as a step of the scan, and `arrays`, which a native run reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.catalog.poisson_input.op import poisson_input
from event_ops.checks.arrays import as_array, is_known
from event_ops.checks.inputs import in_dtype, is_number
from event_ops.checks.keywords import known_integer
from event_ops.kernels.reference.poisson import check_mean, poisson_tables
from event_ops.neurons.step import neuron_step
from event_ops.sparse.pytree import register

_LAST: Final = np.iinfo(np.int32).max  # no run comes to this step
_KEY_STEP: Final = 0x9E3779B9  # odd, and of many bits: seeds that are small numbers stay apart


class Given(NamedTuple):
    """Hold all that inputs read of a run: the seed, its first step, their number, and values by name."""

    seed: jax.Array
    begin: jax.Array
    steps: int
    values: Mapping[str, jax.Array]


def key_of(seed: jax.Array, place: int) -> jax.Array:
    """Return the key from which the Poisson input at this place among all draws."""
    return seed ^ np.uint32(place * _KEY_STEP % (1 << 32))


@dataclass(frozen=True, eq=False, init=False)
class PoissonInput:
    """`receptor[j] += weight * k` in steps [start, stop), k spikes of a Poisson process of neuron j's own.

    A pytree, whose leaf is the weight. The numbers are those of `poisson_input` with the number of the step;
    its seed is that of the state for the first input of a network, and seed ^ (k * 0x9E3779B9) for input k.

    Args:
        receptor: the name of a state or variable, as that of a `Projection`.
        weight: what one spike adds: a number or (size,).
        mean: spikes per step that a neuron receives on average, rate * dt: a number or (size,) numbers that
            are known when the network is made, in [0, 100].
        start, stop: the first step, and the one behind the last, counted as `State.step` is; default: all.
        target: the name of the population, where the network has several.

    Raises:
        TypeError: mean is a JAX array, or not of numbers; start or stop is no integer.
        ValueError: mean is out of range, or stop is below start.
    """

    receptor: str
    weight: Any
    mean: float | tuple[float, ...]
    window: tuple[int, int] | None
    target: str

    def __init__(
        self,
        receptor: str,
        *,
        weight: Any,
        mean: Any,
        start: int = 0,
        stop: int | None = None,
        target: str = "",
    ) -> None:
        if isinstance(mean, jax.Array):
            raise TypeError(
                "mean is a JAX array; expected numbers that become tables of the compiled code: "
                "np.asarray(mean)"
            )
        means = np.asarray(mean)
        check_mean(means)
        vars(self).update(receptor=receptor, weight=_weight(weight), target=target)
        # A tuple has a hash.
        vars(self).update(mean=tuple(means.tolist()) if means.ndim else float(means))
        vars(self).update(window=_window(known_integer("start", start), stop))

    @property
    def kind(self) -> str:
        """Return how runs add it: "poisson", or "pulse" where it is on for some steps only."""
        return "poisson" if self.window is None else "pulse"

    def add(self, sums: jax.Array, place: int, step: jax.Array, given: Given) -> jax.Array:
        """Return the sums with the input of a step added."""
        weight, mean = in_dtype(self.weight, sums.dtype), np.asarray(self.mean, np.float64)
        added = poisson_input(weight, key_of(given.seed, place), step, mean=mean, initial=sums)
        return added if self.window is None else jnp.where(self.is_on(step), added, sums)

    def is_on(self, step: jax.Array) -> jax.Array | bool:
        """Return whether a step lies in the window."""
        return self.window is None or ((step >= self.window[0]) & (step < self.window[1]))

    def arrays(self, place: int, size: int, dtype: Any, given: Given) -> dict[str, Any]:
        """Return name -> array of a native run."""
        tables, which = poisson_tables(np.asarray(self.mean, np.float64))
        window = {} if self.window is None else {"window": np.array(self.window, np.int32)}
        return {
            "weight": in_dtype(self.weight, dtype),
            "key": key_of(given.seed, place),
            "tables": tables,
            "which": np.broadcast_to(which, size),
            **window,
        }


register(
    PoissonInput, ("weight",), ("receptor", "mean", "window", "target"), "event_ops.network.PoissonInput"
)


def _weight(given: Any) -> Any:
    """Return the weight of an input: a number as a float, as JAX cuts integers that it passes on."""
    return float(given) if is_number(given) else as_array(given, "weight")


def _window(start: int, stop: int | None) -> tuple[int, int] | None:
    """Return the first step and the one behind the last, or None for all steps."""
    if start <= 0 and stop is None:
        return None
    end = max(start, _LAST) if stop is None else known_integer("stop", stop)
    if end < start:
        raise ValueError(f"stop is {end}, and start is {start}; expected steps [start, stop)")
    return min(max(start, 0), _LAST), min(max(end, 0), _LAST)


@dataclass(frozen=True, init=False)
class TimedInput:
    """`receptor[j] += values[(t - t0) // every, j]` in steps t of a run that begins with t0: given currents.

    The values are an argument of each run, `network.run(state, steps, inputs={name: values})`, so that a
    chunk of a long run is given its part: (rows, size), or (rows, 1) where all neurons share them, with
    ceil(steps / every) rows, in the unit and dtype of the receptor. There are derivatives, as of the scan.

    Args:
        receptor: the name of a state or variable, as that of a `Projection`. A variable has the value within
            its step, as a current of NEST's step_current_generator; to a state it is added behind the step.
        name: of the values among the inputs of a run.
        every: for so many steps a row is held, >= 1.
        target: the name of the population, where the network has several.

    Raises:
        TypeError: every is no integer.
        ValueError: every < 1, or int32 does not hold it, or the name is empty.
    """

    receptor: str
    name: str
    every: int
    target: str

    def __init__(self, receptor: str, *, name: str, every: int = 1, target: str = "") -> None:
        steps = known_integer("every", every)
        if not 1 <= steps <= _LAST or not name:
            raise ValueError(
                f"every is {steps} and name is {name!r}; expected at least 1 step, below 2**31, and a name"
            )
        vars(self).update(receptor=receptor, name=name, every=steps, target=target)

    kind = "values"

    def rows(self, steps: int) -> int:
        """Return how many rows a run of `steps` steps reads."""
        return -(-steps // self.every)

    def add(self, sums: jax.Array, place: int, step: jax.Array, given: Given) -> jax.Array:
        """Return the sums with the input of a step added."""
        return sums + given.values[self.name][(step - given.begin) // self.every]

    def arrays(self, place: int, size: int, dtype: Any, given: Given) -> dict[str, Any]:
        """Return name -> array of a native run; None for values that are not known yet."""
        return {"values": given.values.get(self.name), "hold": np.array([self.every], np.int32)}


register(TimedInput, (), ("receptor", "name", "every", "target"), "event_ops.network.TimedInput")


@dataclass(frozen=True, eq=False, init=False)
class SpikeInput:
    """`receptor[j] += weight * k`, k the number of times that (t, j) is among (times, ids): given spikes.

    A pytree, whose leaves are weight, times and ids. To replay a recording, let a population of `parrot`
    neurons take its spikes: `SpikeInput("spikes", *recording.spikes, target="source")`.

    Args:
        receptor: the name of a state or variable, as that of a `Projection`.
        times: (n,) of integers, the steps of the spikes, counted as `State.step` is, in any order.
        ids: (n,) of integers, which neuron of the target each is for.
        weight: what one spike adds: a number or (size,).
        target: the name of the population, where the network has several.

    Raises:
        TypeError: times or ids are no integers.
        ValueError: they are no two lists of one length; or, where their values are known, below 0, or an id
            is not below the size of the population, or more than int32 holds. In traced functions such
            spikes are left out.
    """

    receptor: str
    weight: Any
    times: jax.Array
    ids: jax.Array
    target: str

    def __init__(self, receptor: str, times: Any, ids: Any, *, weight: Any = 1.0, target: str = "") -> None:
        lists = [as_array(x, name) for name, x in (("times", times), ("ids", ids))]
        steps, neurons = (_integers(name, x) for name, x in zip(("times", "ids"), lists, strict=True))
        if steps.shape != neurons.shape:
            raise ValueError(f"times has {steps.size} elements and ids {neurons.size}; expected one for each")
        # By neuron within a step: then those that are equal follow each other, and the last ones are found.
        order = jnp.lexsort((neurons, steps))
        vars(self).update(receptor=receptor, weight=_weight(weight), target=target)
        vars(self).update(times=steps[order], ids=neurons[order])

    kind = "spikes"

    def add(self, sums: jax.Array, place: int, step: jax.Array, given: Given) -> jax.Array:
        """Return the sums with the input of a step added."""
        if not self.ids.size:
            return sums  # of no spikes there is none to look up, even in a loop of no turns
        low, high = jnp.searchsorted(self.times, jnp.stack([step, step + 1]))
        neurons = jnp.where(self.ids < 0, sums.size, self.ids)  # a place below 0 counts from the end

        def count(k: jax.Array, numbers: jax.Array) -> jax.Array:
            return numbers.at[neurons[k]].add(1, mode="drop")

        numbers = jax.lax.fori_loop(low, high, count, jnp.zeros(sums.size, jnp.int32))

        def product() -> jax.Array:
            return in_dtype(self.weight, sums.dtype) * numbers.astype(sums.dtype)

        # From a branch XLA makes no one instruction of the product and the sum, which would round it once.
        added = jax.lax.cond(low < high, product, lambda: jnp.zeros_like(sums))
        return jnp.where(numbers > 0, sums + added, sums)

    def arrays(self, place: int, size: int, dtype: Any, given: Given) -> dict[str, Any]:
        """Return name -> array of a native run: spikes of step begin + s are ids[spans[s] : spans[s + 1]]."""
        steps = given.begin + np.arange(given.steps + 1, dtype=np.int32)
        weight = jnp.broadcast_to(in_dtype(self.weight, dtype), size)
        spans = jnp.searchsorted(self.times, steps).astype(jnp.int32)
        return {"weight": weight, "train": self.ids, "spans": spans}


register(SpikeInput, ("weight", "times", "ids"), ("receptor", "target"), "event_ops.network.SpikeInput")

Input = PoissonInput | TimedInput | SpikeInput


def _integers(name: str, x: jax.Array) -> jax.Array:
    """Return times or ids as int32."""
    if x.ndim != 1 or (x.dtype.kind not in "iu" and x.size):
        raise TypeError(f"{name} is {x.dtype}{list(x.shape)}; expected a list of integers")
    if is_known(x) and x.size and (x.min() < 0 or x.max() >= _LAST):
        raise ValueError(
            f"{name} is or contains {x.min() if x.min() < 0 else x.max()}; expected them in [0, {_LAST}); "
            "recording.spikes has no padding"
        )
    # Of more bits than int32 has, traced ones would come round to other steps and neurons.
    low = 0 if x.dtype.kind == "u" else -1
    return (jnp.clip(x, low, _LAST) if x.dtype.itemsize >= 4 else x).astype(jnp.int32)


def _passed_on(arrived: Any, *, spikes: Any) -> Any:
    return spikes


parrot: Final = neuron_step(
    _passed_on, threshold=lambda arrived: arrived - 0.5, reset=lambda arrived: arrived * 0
)
"""Pass spikes on: a neuron with the state `arrived` spikes in each step in which `spikes` has 1 or more.

NEST's parrot_neuron. An input to the receptor `spikes` with a weight of 1 makes the population a source for
projections: of Poisson processes with a `PoissonInput`, of spikes that are given with a `SpikeInput`. In a
step a neuron passes on one spike at most.
"""
