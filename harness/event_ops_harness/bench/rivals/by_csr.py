"""The same products of the same matrix in more bytes: as CSR, of 16-bit words also in 32 bits each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from event_ops.cases.matrices import packed, unpacked
from event_ops.checks.packed_entries import are_narrow
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


def _wide(problem: Problem) -> Steps | None:
    words, indptr, *rest = problem.args
    if not are_narrow(words):
        return None
    columns = problem.kwargs["shape"][1]
    codes, indices, ends = unpacked(words, indptr, columns)
    wide = replace(problem, args=(packed(codes, indices, columns), ends, *rest))
    return steps_of(wide, partial(problem.operator.function, **problem.kwargs))


OFFERS: Final = {
    name: {"CSR": _product, "32-bit words": _wide} for name in ("compact_event_matvec", "compact_matvec")
}
