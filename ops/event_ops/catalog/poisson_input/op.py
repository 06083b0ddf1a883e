"""The operator `poisson_input`: checks and backends; the reference has its derivatives."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS, check_dtype, check_shape, is_known
from event_ops.checks.inputs import as_input, filled, in_dtype
from event_ops.checks.keywords import initial_sums
from event_ops.checks.procedural import words_of_step
from event_ops.checks.values import contract
from event_ops.kernels.reference.poisson import check_mean, digit_tables, neurons, poisson_tables


@contract(mean=contracts.poisson_means)
def poisson_input(
    weight: ArrayLike,
    seed: ArrayLike,
    step: ArrayLike,
    *,
    mean: ArrayLike,
    initial: ArrayLike = 0,
    first: ArrayLike = 0,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = initial[i] + weight[i] * k[i]`, k[i] a Poisson number of mean[i]: what a step's sources send.

    The numbers are a function of seed, step, first + i and mean[i] alone: the same on every backend, for any
    number of threads and of neurons. Another step, or another seed, gives independent ones. Differentiable in
    weight and initial; the derivative with respect to mean is 0 (that of the expected y is weight).

    A mean that is a number or a NumPy array is a constant, which becomes tables of the compiled code. A mean
    that is a JAX array is data: it may be traced, be a batch under `vmap`, and change from step to step of a
    `scan`. Data take some ten times as long, since each number is a sum of numbers of the mean's digits; they
    give other numbers than a constant, equally distributed.

    Args:
        weight: (n,), 0-d or a number, what one spike adds; float32 or float64.
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        step: 0-d or a Python int, the number of the time step; any integer dtype, taken modulo 2**32; may be
            traced. After 2**32 steps, 119 h of 0.1 ms each, the numbers are those of step 0 again: a longer
            run takes another seed then.
        mean: (n,), 0-d or a number, spikes per step that a neuron receives on average, rate * dt, in
            [0, 100]; a constant has at most 65536 different values. Where a traced mean is out of range or
            NaN, y is NaN.
        initial: (n,), 0-d or a number, what the spikes are added to; dtype of weight. An array is updated in
            place where it is not needed again.
        first: 0-d, the number of the first of these neurons, in [0, 2**31): with it the blocks of a
            population draw what the whole of it draws; any integer dtype; may be traced.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (n,), dtype of weight.

    Raises:
        TypeError: a dtype that is not taken.
        ValueError: shapes that do not fit, or of which none is (n,); a mean or a first that is out of range
            and known when traced.

    Source: Philox2x32-10 of Salmon et al., SC 2011; alias tables of Vose, IEEE TSE 17(9), 1991.
    """
    means: Any = mean if isinstance(mean, jax.Array) else np.asarray(mean)
    check_mean(means)
    weight = in_dtype(weight, float) if isinstance(weight, int | float) else as_input(weight)
    check_dtype("weight", weight, FLOATS)
    outs = jax.ShapeDtypeStruct(neurons(means, weight, initial), weight.dtype)
    why = "one for all, or one per neuron"
    check_shape("mean", means, (), outs.shape, why=why)
    check_shape("weight", weight, (), outs.shape, why=f"{why}, as mean")
    words = words_of_step(seed, step, first, outs.size)
    sums = initial_sums(initial, outs, "weight", weight)
    if isinstance(means, jax.Array):
        tables, which = digit_tables(), means if is_known(means) else jax.lax.stop_gradient(means)
        which = which if which.dtype == np.float64 else which.astype(np.float32)
    else:
        tables, which = poisson_tables(means)
        which = which if which.ndim else filled(which, outs.shape)
    return kernel(weight, *words, tables, which, sums, outs=outs, backend=backend)


kernel = define_operator("poisson_input", "synapse elementwise")
