"""The operator `uniform_input`: checks, and a term with a uniform number, from which kernels are made."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import FAMILIES
from event_ops.codegen.operators import call_term, define_kernel
from event_ops.kernels.noise import checked_pair, drawn, of_neuron


def uniform_input(
    low: ArrayLike,
    high: ArrayLike,
    seed: ArrayLike,
    step: ArrayLike,
    *,
    first: ArrayLike = 0,
    stream: int = 0,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = low[i] + (high[i] - low[i]) * u[i]`, u[i] a uniform number in [0, 1): noise of a step.

    The numbers u, multiples of 2**-24, are a function of seed, step, stream and first + i alone: they have
    the same bits on every backend, for any number of threads and of neurons, in float32 and in float64. The
    product and the sum are rounded once or twice, as the backend has it, and may so be high itself. Another
    step, or another seed, gives independent numbers, and so do `normal_input` and `poisson_input` with the
    same seed and step. Differentiable in low and high; the derivatives are 1 - u and u.


    Args:
        low: (n,), 0-d or a number; float32 or float64. An array is updated in place where it is not needed
            again.
        high: (n,), 0-d or a number; dtype of low. At least one of the two is (n,).
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        step: 0-d or a Python int, the number of the time step; any integer dtype, taken modulo 2**32; may be
            traced. After 2**32 steps, 119 h of 0.1 ms each, the numbers are those of step 0 again: a longer
            run takes another seed then.
        first: 0-d, the number of the first of these neurons, in [0, 2**31): with it the blocks of a
            population draw what the whole of it draws; any integer dtype; may be traced.
        stream: 0, 1, 2 or 3, static: another one gives independent numbers for the same seed and step.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (n,), dtype of low and high.

    Raises:
        TypeError: a dtype that is not taken.
        ValueError: shapes that do not fit, or of which none is (n,); a first or a stream that is out of
            range, where it is known when traced.

    Example:
        >>> import jax.numpy as jnp
        >>> from event_ops import uniform_input
        >>> flags = uniform_input(jnp.zeros(100_000), 1.0, 7, 0) < 0.25  # one in four
        >>> print(f"{flags.mean():.2f}")
        0.25

    Source: Philox2x32-10 of Salmon et al., SC 2011.
    """
    base, top = checked_pair(low=low, high=high)
    terms = drawn("uniform", base, top - base, (seed, step, first), stream)
    return call_term(kernel, of_neuron, **terms, backend=backend)[0]


kernel = define_kernel("uniform_input", "event_ops.neurons", "synapse", "elementwise")
FAMILIES["uniform_input"] = "noise"
