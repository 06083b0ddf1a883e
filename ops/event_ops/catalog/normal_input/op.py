"""The operator `normal_input`: checks, and a term with a normal number, from which kernels are made."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.catalog import FAMILIES
from event_ops.checks.arrays import is_known
from event_ops.codegen.operators import call_term, define_kernel
from event_ops.kernels.noise import checked_pair, drawn, of_neuron


def normal_input(
    mean: ArrayLike,
    std: ArrayLike,
    seed: ArrayLike,
    step: ArrayLike,
    *,
    first: ArrayLike = 0,
    stream: int = 0,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = mean[i] + std[i] * z[i]`, z[i] a standard normal number: noise that a step adds.

    The numbers z are a function of seed, step, stream and first + i alone: they have the same bits on every
    backend, for any number of threads and of neurons, in float32 and in float64. The product and the sum are
    rounded once or twice, as the backend has it. Another step, or another seed, gives independent numbers,
    and so do `uniform_input` and `poisson_input` with the same seed and step. Differentiable in mean and std;
    the derivatives are 1 and z.

    z is the inverse of the distribution, of 31 random bits: quantiles to 2e-5, a variance of 1 to 2e-6, and
    magnitudes up to 6.23. White noise of a current or a potential has std proportional to 1 / sqrt(dt), or to
    sqrt(dt); an Ornstein-Uhlenbeck process, whose spread is sigma, is the example below, exact for any dt.

    Args:
        mean: (n,), 0-d or a number, what the noise is added to; float32 or float64. An array is updated in
            place where it is not needed again.
        std: (n,), 0-d or a number, >= 0; dtype of mean. At least one of the two is (n,).
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        step: 0-d or a Python int, the number of the time step; any integer dtype, taken modulo 2**32; may be
            traced. After 2**32 steps, 119 h of 0.1 ms each, the numbers are those of step 0 again: a longer
            run takes another seed then.
        first: 0-d, the number of the first of these neurons, in [0, 2**31): with it the blocks of a
            population draw what the whole of it draws; any integer dtype; may be traced.
        stream: 0, 1, 2 or 3, static: another one gives independent numbers for the same seed and step.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (n,), dtype of mean and std.

    Raises:
        TypeError: a dtype that is not taken.
        ValueError: shapes that do not fit, or of which none is (n,); a std < 0, a first or a stream that is
            out of range, where they are known when traced.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from event_ops import normal_input
        >>> tau, sigma, dt = 5.0, 2.0, 0.1
        >>> remains = jnp.exp(-dt / tau)
        >>> spread = sigma * jnp.sqrt(1 - remains**2)
        >>> def ornstein_uhlenbeck(x, t):
        ...     return normal_input(x * remains, spread, 7, t), None
        >>> x, _ = jax.lax.scan(ornstein_uhlenbeck, jnp.zeros(10_000), jnp.arange(500))
        >>> print(f"{x.std():.1f}")
        2.0

    Source: Philox2x32-10 of Salmon et al., SC 2011; inversion in pieces, Cheung et al., IEEE TVLSI 15(8),
        2007.
    """
    _check_std(std)
    base, scale = checked_pair(mean=mean, std=std)
    terms = drawn("normal", base, scale, (seed, step, first), stream)
    return call_term(kernel, of_neuron, **terms, backend=backend)[0]


def _check_std(std: Any) -> None:
    """Raise ValueError if a value that is known now is negative; NaN shows in the result."""
    if not is_known(std):
        return
    negative = np.asarray(std)[np.asarray(std) < 0]
    if negative.size:
        raise ValueError(f"std is or contains {negative.flat[0]}; expected standard deviations, >= 0")


kernel = define_kernel("normal_input", "event_ops.neurons", "synapse", "elementwise")
FAMILIES["normal_input"] = "noise"
