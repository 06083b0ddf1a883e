"""Time gradients: value_and_grad beside value, by the arguments in which an operator is linear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.bench.steps import Problem, called
from event_ops_harness.bench.timing import seconds_per_step

TARGET: Final = 3.5


@dataclass(frozen=True)
class Gradient:
    """Hold the seconds of one value, and of the value with the gradient by the arguments at `positions`."""

    name: str
    positions: tuple[int, ...]
    value: float
    value_and_grad: float

    @property
    def ratio(self) -> float:
        """Return how many times as long as the value alone both take."""
        return self.value_and_grad / self.value

    def as_row(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        times = {"value_us": self.value * 1e6, "value_and_grad_us": self.value_and_grad * 1e6}
        return {"group": self.name, "by": self.positions, **times, "ratio": self.ratio}


def keep_largest(held: dict[bool, Problem], problem: Problem) -> None:
    """Keep the problem if it is the largest of its orientation, transposed or not, and has a gradient."""
    orientation = bool(problem.kwargs.get("transpose"))
    size = _nbytes(held[orientation]) if orientation in held else 0
    if problem.operator.bench.linear and _nbytes(problem) >= size:
        held[orientation] = problem


def measure(problem: Problem, rounds: int, budget: float) -> Gradient:
    """Time the default backend, called from Python."""
    positions, value, both = functions(problem)
    args = tuple(map(jnp.asarray, with_float_events(problem)))
    runs = {"value": called(value, args), "value_and_grad": called(both, args)}
    best = seconds_per_step(runs, rounds=rounds, budget=budget, at_least=0)
    return Gradient(problem.name, positions, best["value"], best["value_and_grad"])


def _nbytes(problem: Problem) -> int:
    return sum(x.nbytes for x in problem.args)


def functions(problem: Problem) -> tuple[tuple[int, ...], Callable[..., Any], Callable[..., Any]]:
    """Return the positions, half the squared norm of the outputs, and that with its gradient."""
    positions = problem.operator.bench.linear

    def value(*args: Any) -> Any:
        y = problem.operator.function(*args, **problem.kwargs)
        return 0.5 * jnp.vdot(y, y)

    return positions, value, jax.value_and_grad(value, argnums=positions)


def with_float_events(problem: Problem) -> list[Any]:
    """Return the arguments, flags as numbers: only those have a derivative."""
    dtype = problem.operator.dtypes[0]
    return [x.astype(dtype) if np.asarray(x).dtype == bool else x for x in problem.args]
