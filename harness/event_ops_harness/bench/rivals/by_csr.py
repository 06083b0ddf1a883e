"""Our own operators as rivals, where they should not be faster.

The same product of the same matrix in more bytes: as CSR, and 16-bit words in 32 bits each. For products with
events, the product of the same matrix with numbers.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from event_ops.cases.matrices import packed, unpacked
from event_ops.checks.packed_entries import are_narrow
from event_ops.discover import operators
from event_ops_harness.bench.rivals import Make
from event_ops_harness.bench.rivals.by_scipy import csr_arguments
from event_ops_harness.bench.steps import Problem, steps_of
from event_ops_harness.bench.timing import Steps


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


def _with_numbers(product: str, problem: Problem) -> Steps:
    """Multiply with the events as numbers, cast beforehand."""
    operator = next(x for x in operators() if x.name == product)
    *matrix, events = problem.args
    dtype = problem.operator.dtypes[0]
    numbers = replace(problem, operator=operator, args=(*matrix, events.astype(dtype)))
    return steps_of(numbers, partial(operator.function, **problem.kwargs))


OFFERS: Final[dict[str, dict[str, Make]]] = {
    name.replace("_matvec", "_event_matvec").replace("_matmat", "_event_matmat"): {
        name: partial(_with_numbers, name)
    }
    for name in (
        *("csr_matvec", "csr_matmat", "ell_matvec", "compact_matvec"),
        *("procedural_matvec", "procedural_matmat"),
    )
}
for compact in ("compact_event_matvec", "compact_matvec"):
    OFFERS[compact] = {"CSR": _product, "32-bit words": _wide, **OFFERS.get(compact, {})}
