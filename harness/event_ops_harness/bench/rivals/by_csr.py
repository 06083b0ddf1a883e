"""The same products of the same matrix as CSR, with a weight and an index for each entry: what words save."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from event_ops.discover import operators
from event_ops_harness.bench.rivals.by_scipy import csr_arguments
from event_ops_harness.bench.steps import Problem, steps_of
from event_ops_harness.bench.timing import Steps

DISTRIBUTIONS: Final = ("jax", "numba")


def _product(problem: Problem) -> Steps:
    name = problem.operator.name.replace("compact", "csr")
    product = next(operator for operator in operators() if operator.name == name)
    stored = replace(problem, operator=product, args=csr_arguments(problem))
    return steps_of(stored, partial(product.function, **problem.kwargs))


OFFERS: Final = {name: {"CSR": _product} for name in ("compact_event_matvec", "compact_matvec")}
