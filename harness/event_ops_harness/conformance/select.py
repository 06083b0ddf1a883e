"""Select the cases on which a property is checked: all, or as few as exercise it."""

import functools

import numpy as np

from event_ops.cases import BENCHMARK, CONFORMANCE, Case
from event_ops.discover import Operator

SMALL = 1000  # elements of an input
EVENT_DRIVEN = "event-driven"  # the tag


@functools.cache
def small(operator: Operator, case: Case) -> bool:
    """Return whether a case exercises rules rather than sizes."""
    args, _ = case.make(np.random.default_rng(0), operator.dtypes[0], "int32")
    return max((np.size(x) for x in args), default=0) < SMALL


def large(operator: Operator) -> tuple[Case, ...]:
    """Return the last benchmark case, if it is only that: threads work on it for a while."""
    return tuple(case for case in operator.tagged(BENCHMARK)[-1:] if CONFORMANCE not in case.tags)


def every(operator: Operator, case: Case) -> bool:
    """Select all cases."""
    return True


def none(operator: Operator, case: Case) -> bool:
    """Select no case."""
    return False


def first(operator: Operator, case: Case) -> bool:
    """Select the plainest case: enough for the code above the choice of a backend."""
    return case is operator.tagged(CONFORMANCE)[0]


def few(operator: Operator, case: Case) -> bool:
    """Select the first case and one without elements; with a batching rule, the first two and that one.

    Without a rule the bridge batches by a loop around the kernel, which is the same for every kernel.
    """
    plain = operator.tagged(CONFORMANCE)[: 2 if operator.kernel.rules.batching else 1]
    return small(operator, case) and (case in plain or case.name in ("no-rows", "empty"))


def bounded(operator: Operator, case: Case) -> bool:
    """Select the first cases, one without elements, and cases whose indices lead out of bounds."""
    astray = case.name.startswith(("out-of-range", "broken", "poisoned"))
    return few(operator, case) or (astray and small(operator, case))


def event_driven(operator: Operator, case: Case) -> bool:
    """Select all small cases with derivatives, of operators that promise something about inactive events."""
    return case in _smooth(operator) and EVENT_DRIVEN in operator.kernel.tags


def smooth(operator: Operator, case: Case) -> bool:
    """Select the first cases with derivatives, the widest one, and cases in which some inputs have none."""
    special = bool(case.differentiable) and case.name.startswith(("poisoned", "out-of-range"))
    chosen = case in _smooth(operator)[:2] or widest(operator, case) or special
    return small(operator, case) and chosen


def widest(operator: Operator, case: Case) -> bool:
    """Select the first of the cases with the most differentiable arguments.

    This is enough for all backends but the default: rules belong to the operator, and pass the backend on by
    name, to operators whose values are checked on it.
    """
    return case is max(_smooth(operator), key=lambda c: len(c.differentiable), default=None)


def _smooth(operator: Operator) -> list[Case]:
    cases = operator.tagged(CONFORMANCE)
    return [case for case in cases if case.differentiable and small(operator, case)]
