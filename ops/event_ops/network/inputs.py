"""Inputs of a network: what is added to receptors from outside, beside the spikes of its projections."""

import operator
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from event_ops.checks.arrays import as_array
from event_ops.checks.inputs import is_number
from event_ops.kernels.reference.poisson import check_mean
from event_ops.neurons.step import neuron_step
from event_ops.sparse.pytree import register

_LAST: Final = np.iinfo(np.int32).max  # no run comes to this step


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
        added = weight if is_number(weight) else as_array(weight, "weight")
        vars(self).update(receptor=receptor, weight=added, mean=_hashable(means), target=target)
        vars(self).update(window=_window(operator.index(start), stop))

    @property
    def kind(self) -> str:
        """Return how runs add it: "poisson", or "pulse" where it is on for some steps only."""
        return "poisson" if self.window is None else "pulse"


register(
    PoissonInput, ("weight",), ("receptor", "mean", "window", "target"), "event_ops.network.PoissonInput"
)


def _window(start: int, stop: int | None) -> tuple[int, int] | None:
    """Return the first step and the one behind the last, or None for all steps."""
    if start <= 0 and stop is None:
        return None
    end = _LAST if stop is None else operator.index(stop)
    if end < start:
        raise ValueError(f"stop is {end}, and start is {start}; expected steps [start, stop)")
    return max(start, 0), max(0, min(end, _LAST))


def _hashable(means: np.ndarray) -> Any:
    return tuple(means.tolist()) if means.ndim else float(means)


def _passed_on(arrived: Any, *, spikes: Any) -> Any:
    return spikes


parrot: Final = neuron_step(
    _passed_on, threshold=lambda arrived: arrived - 0.5, reset=lambda arrived: arrived * 0
)
"""Pass spikes on: a neuron with the state `arrived` spikes in each step in which `spikes` has 1 or more.

NEST's parrot_neuron. An input to the receptor `spikes` with a weight of 1 makes the population a source for
projections: independent Poisson processes with a `PoissonInput`, of which a step has one spike at most.
"""
