"""The operator `poisson_input`: checks, backends; its derivatives are those of the reference."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks import FLOATS, INTEGERS, as_array, check_dtype, check_shape
from event_ops.poisson import poisson_tables
from event_ops.procedural_checks import seed_word
from event_ops.sums import sums_begin
from ffi_bridge import XLACustomKernel


def poisson_input(
    weight: ArrayLike,
    seed: ArrayLike,
    step: ArrayLike,
    *,
    mean: ArrayLike,
    initial: ArrayLike = 0,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = initial[i] + weight[i] * k[i]`, k[i] a Poisson number of mean[i]: what a step's sources send.

    The numbers are a function of seed, step, i and mean[i] alone: the same on every backend, for any number
    of threads and of neurons. Another step, or another seed, gives independent ones. Differentiable in
    weight and initial.

    Args:
        weight: (n,), 0-d or a number, what one spike adds; float32 or float64.
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        step: 0-d, the number of the time step; any integer dtype, taken modulo 2**32; may be traced.
        mean: (n,), spikes per step that a neuron receives on average, rate * dt, in [0, 100]; NumPy, known
            when traced; at most 65536 different values.
        initial: (n,), 0-d or a number, what the spikes are added to; dtype of weight. An array is updated in
            place where it is not needed again.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (n,), dtype of weight.

    Raises:
        TypeError: a dtype that is not taken, or a traced mean.
        ValueError: a shape that does not fit, or a mean that is out of range.

    Source: Philox2x32-10 of Salmon et al., SC 2011; alias tables of Vose, IEEE TSE 17(9), 1991.
    """
    tables, which = poisson_tables(mean)
    weight = jnp.asarray(weight, float) if isinstance(weight, int | float) else as_array(weight)
    check_dtype("weight", weight, FLOATS)
    check_shape("weight", weight, (), which.shape, why="one for all, or one per neuron, as mean")
    step = as_array(step)
    check_dtype("step", step, INTEGERS)
    check_shape("step", step, (), why="the number of one time step")
    outs = jax.ShapeDtypeStruct(which.shape, weight.dtype)
    first = sums_begin(initial, outs, "weight", weight)
    words = seed_word(seed), step.astype(np.uint32)
    return kernel(weight, *words, tables, which, first, outs=outs, backend=backend)


kernel = XLACustomKernel("poisson_input")
kernel.def_tags("synapse", "elementwise")
kernel.def_tuning("event_ops:tuning")
kernel.def_reference("event_ops.catalog.poisson_input.reference:generator")
kernel.def_numba_kernel("event_ops.catalog.poisson_input.numba_cpu:generator")
kernel.def_numba_cuda_kernel("event_ops.catalog.poisson_input.numba_cuda:generator")
kernel.def_warp_kernel("event_ops.catalog.poisson_input.warp:generator")
