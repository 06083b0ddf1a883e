"""Surrogate gradients: pseudo-derivatives of the spike, for training through threshold crossings.

A spike S is 1 where x = V - V_th > 0 and 0 elsewhere: its derivative is 0 wherever there is one. Operators
with the keyword `surrogate` put one of these in its place: dS/dx = surrogate(x), with x in the unit of V,
usually mV, and not normalised. So a width is in mV too: a membrane whose threshold lies 10 mV above rest
wants a surrogate about ten times as wide as one whose threshold is 1.

Each is a value: hashable, compared by its parameters, the same in every jit. A function of your own serves
as well, if it is hashable and maps an array x to dS/dx, elementwise.
"""

import math
from dataclasses import dataclass, fields

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import check_positive


@dataclass(frozen=True)
class _Positive:
    """Refuses parameters that are not positive."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_positive(field.name, getattr(self, field.name))


@dataclass(frozen=True)
class atan(_Positive):
    """`dS/dx = alpha / 2 / (1 + (pi / 2 * alpha * x)**2)`: the derivative of an arctangent.

    Its integral is 1, its peak alpha / 2; it falls off as 1 / x**2, so that far neurons still learn.

    Args:
        alpha: steepness in 1/mV, > 0; the width at half the peak is 4 / (pi * alpha).

    Raises:
        ValueError: alpha <= 0.

    Source: Fang et al. (2021), ICCV, 2661-2671.
    """

    alpha: float = 2.0

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.alpha / 2 / (1 + jnp.square(math.pi / 2 * self.alpha * x))


@dataclass(frozen=True)
class fast_sigmoid(_Positive):
    """`dS/dx = 1 / (1 + beta * |x|)**2`: the derivative of a fast sigmoid, x / (1 + |x|), scaled.

    Its peak is 1 whatever beta is, so that gradients neither vanish nor explode as it gets narrower.

    Args:
        beta: steepness in 1/mV, > 0; the width at half the peak is 0.83 / beta.

    Raises:
        ValueError: beta <= 0.

    Source: Zenke and Ganguli (2018), Neural Computation 30, 1514-1541 (SuperSpike); Neftci, Mostafa and
        Zenke (2019), IEEE Signal Processing Magazine 36(6), 51-63.
    """

    beta: float = 10.0

    def __call__(self, x: jax.Array) -> jax.Array:
        return 1 / jnp.square(1 + self.beta * jnp.abs(x))


@dataclass(frozen=True)
class sigmoid(_Positive):
    """`dS/dx = alpha * s * (1 - s)` with s = 1 / (1 + exp(-alpha * x)): the derivative of a sigmoid.

    Its integral is 1, its peak alpha / 4; it falls off as exp(-alpha * |x|), faster than the others that are
    nowhere 0.

    Args:
        alpha: steepness in 1/mV, > 0; the width at half the peak is 3.53 / alpha.

    Raises:
        ValueError: alpha <= 0.

    Source: Zenke and Vogels (2021), Neural Computation 33, 899-925, who compare it with the fast sigmoid.
    """

    alpha: float = 4.0

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.alpha * jax.nn.sigmoid(self.alpha * x) * jax.nn.sigmoid(-self.alpha * x)


@dataclass(frozen=True)
class triangular(_Positive):
    """`dS/dx = gamma / width * max(0, 1 - |x| / width)`: a triangle around the threshold.

    Exactly 0 for neurons further than width from it. gamma < 1 dampens what is passed back through many
    steps. With width = V_th, of a neuron that rests at 0, it is the one of the source.

    Args:
        gamma: dampening, > 0; the integral.
        width: half the base in mV, > 0.

    Raises:
        ValueError: gamma or width <= 0.

    Source: Bellec et al. (2018), NeurIPS 31, 787-797; Bellec et al. (2020), Nature Communications 11, 3625.
    """

    gamma: float = 0.3
    width: float = 1.0

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.gamma / self.width * jnp.maximum(0, 1 - jnp.abs(x) / self.width)
