"""Derivatives in weights and times of the arrivals of an instant, dense rows that reach all neurons."""

# V and I are potential and current, and no constants:
# pyright: reportConstantRedefinition=false
from typing import Any

import numpy as np

from event_ops.eventprop.adjoint import Gradients
from event_ops.eventprop.dynamics import Neuron
from event_ops.eventprop.rows import Arrivals
from event_ops.kernels.numba_cpu.jit import INLINED, njit
from event_ops.kernels.numba_cpu.prefetch import prefetch_element
from event_ops.kernels.numba_cpu.simd import add_product, load, over_columns, store, sum_of, zeros


@over_columns
def _arrival(width: int) -> Any:
    """Return the function that goes back over one arrival, in `width` columns at once.

    It adds derivatives in a row of weights, and returns its products with lambda_V and lambda_I, if wanted.
    """

    @njit(**INLINED)
    def arrival(
        begin: int, end: int, weights: Any, of_weights: Any, row: int, from_V: Any, from_I: Any,
        lambda_V: Any, lambda_I: Any, is_moving: bool,
    ) -> Any:  # fmt: skip
        by_V, by_I, place = zeros(weights, width), zeros(weights, width), row * np.int64(weights.shape[1])
        for j in range(begin, end, width):
            V, I = load(lambda_V, j, width), load(lambda_I, j, width)
            of_weight = add_product(load(of_weights, place + j, width), from_V, V)
            store(of_weights, place + j, add_product(of_weight, from_I, I))
            if is_moving:
                w = load(weights, place + j, width)
                by_V, by_I = add_product(by_V, V, w), add_product(by_I, I, w)
        return sum_of(by_V), sum_of(by_I)

    return arrival


@njit(**INLINED)
def instant_backwards(
    weights: Any, arrivals: Arrivals, inputs: int, q: int, lambda_V: Any, lambda_I: Any, neuron: Neuron,
    gradients: Gradients,
) -> None:  # fmt: skip
    """Add derivatives in weights and times of the arrivals of an instant; the first spikes are `inputs`."""
    real, size = weights.dtype.type, weights.shape[1]
    of_V, of_I, gain = arrivals.left[0, q], arrivals.left[1, q], arrivals.left[2, q]
    from_V, from_I = real(gain), real(of_I)
    in_time_V, in_time_I = gain * neuron.rate_syn - of_V * neuron.rate_m, of_I * neuron.rate_syn
    of_weights = gradients.weights
    # Times of inputs may have no derivatives that are wanted.
    moving = 0 if gradients.of_inputs else inputs
    for r in range(arrivals.starts[q + 1] - 1, arrivals.starts[q] - 1, -1):
        row, spike = np.int64(arrivals.rows[r]), arrivals.spikes[r]
        is_moving = spike >= moving
        if r > 0:
            prefetch_element(of_weights, np.int64(arrivals.rows[r - 1]))
            if arrivals.spikes[r - 1] >= moving:
                prefetch_element(weights, np.int64(arrivals.rows[r - 1]))
        many, some, few = _arrival(
            size, weights, of_weights, row, from_V, from_I, lambda_V, lambda_I, is_moving
        )  # fmt: skip
        if is_moving:
            total = in_time_V * (many[0] + some[0] + few[0]) + in_time_I * (many[1] + some[1] + few[1])
            gradients.arrivals[spike] = total
            gradients.delays[row] += total
