"""Inputs of a network: what is added to receptors from outside, beside the spikes of its projections."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import as_array
from event_ops.checks.inputs import is_number
from event_ops.kernels.reference.poisson import check_mean
from event_ops.sparse.pytree import register


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
