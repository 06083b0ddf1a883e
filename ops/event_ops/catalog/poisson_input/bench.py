"""Describe `poisson_input` to benchmarks."""

from __future__ import annotations

import jax
import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, initial_sums, size
from event_ops.cases.operations import per_element


def _moved(call: Call, outs: Outs) -> int:
    """Count a mean only where it is an array of JAX: a constant one is tables in the compiled code."""
    means = [call.mean] if isinstance(call.mean, jax.Array) else []
    return size(np.asarray(call.weight), *means, *outs) + initial_sums(call, outs)


BENCH = Bench(moved=_moved, operations=per_element(3))  # a random number, a product and a sum
