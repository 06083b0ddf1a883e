"""Our own products with numbers, given the same matrix: products with events should not take longer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from event_ops.discover import operators
from event_ops_harness.bench.steps import Problem, steps_of
from event_ops_harness.bench.timing import Steps

DISTRIBUTIONS: Final = ("jax", "numba")


def _with_numbers(product: str, problem: Problem) -> Steps:
    """Multiply with the events as numbers, cast beforehand."""
    operator = next(x for x in operators() if x.name == product)
    *matrix, events = problem.args
    dtype = problem.operator.dtypes[0]
    numbers = replace(problem, operator=operator, args=(*matrix, events.astype(dtype)))
    return steps_of(numbers, partial(operator.function, **problem.kwargs))


OFFERS: Final = {
    name.replace("_matvec", "_event_matvec").replace("_matmat", "_event_matmat"): {
        name: partial(_with_numbers, name)
    }
    for name in (
        *("csr_matvec", "csr_matmat", "ell_matvec", "compact_matvec"),
        *("procedural_matvec", "procedural_matmat"),
    )
}
