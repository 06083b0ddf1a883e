"""Make gradients to be timed: value_and_grad beside value, by what an operator is linear in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.cases import BENCHMARK, Case
from event_ops.discover import Operator
from event_ops_harness.bench.steps import Problem

MEMBERS: Final = ("value_and_grad", "value")


def cases(operator: Operator) -> list[Case]:
    """Return the last case to be measured of each orientation, the largest; none without a gradient."""
    if not operator.bench.linear:
        return []
    return list({"transposed" in case.name: case for case in operator.tagged(BENCHMARK)}.values())


def functions(problem: Problem) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return half the squared norm of the outputs, and that with its gradient."""

    def value(*args: Any) -> Any:
        y = problem.operator.function(*args, **problem.kwargs)
        return 0.5 * jnp.vdot(y, y)

    return value, jax.value_and_grad(value, argnums=problem.operator.bench.linear)


def with_float_events(problem: Problem) -> list[Any]:
    """Return the arguments, flags as numbers: only those have a derivative."""
    dtype = problem.operator.dtypes[0]
    return [x.astype(dtype) if np.asarray(x).dtype == bool else x for x in problem.args]
