"""Which cases a property is looked at on: all, or as few as exercise what it is about."""

from __future__ import annotations

import functools

import numpy as np

from event_ops.cases import BENCHMARK, CONFORMANCE, Case
from event_ops.discover import Operator

SMALL = 1000  # elements of an input
EVENT_DRIVEN = "event-driven"  # the tag


@functools.cache
def small(operator: Operator, case: Case) -> bool:
    """A case that exercises rules rather than sizes."""
    args, _ = case.make(np.random.default_rng(0), operator.dtypes[0], "int32")
    return max((np.size(x) for x in args), default=0) < SMALL


def large(operator: Operator) -> tuple[Case, ...]:
    """The last of the cases worth timing, if it has no other use: threads are at work on it for a while."""
    return tuple(case for case in operator.tagged(BENCHMARK)[-1:] if CONFORMANCE not in case.tags)


def every(operator: Operator, case: Case) -> bool:
    """All of them."""
    return True


def first(operator: Operator, case: Case) -> bool:
    """The operator's plainest case: enough where what is looked at lies above the choice of a backend."""
    return case is operator.tagged(CONFORMANCE)[0]


def few(operator: Operator, case: Case) -> bool:
    """The first case and one without elements; two and that one where the operator has a batching rule.

    Without a rule the bridge batches, in a loop around the kernel that is the same for every kernel.
    """
    plain = operator.tagged(CONFORMANCE)[: 2 if operator.kernel.rules.batching else 1]
    return small(operator, case) and (case in plain or case.name in ("no-rows", "empty"))


def bounded(operator: Operator, case: Case) -> bool:
    """The first cases, one without elements, and those whose indices lead out of bounds."""
    astray = case.name.startswith(("out-of-range", "broken", "poisoned"))
    return few(operator, case) or (astray and small(operator, case))


def event_driven(operator: Operator, case: Case) -> bool:
    """All small ones with derivatives, of operators that promise something of inactive events."""
    return case in _smooth(operator) and EVENT_DRIVEN in operator.kernel.tags


def smooth(operator: Operator, case: Case) -> bool:
    """The first cases with derivatives, the widest, and those where some inputs must have none."""
    special = bool(case.differentiable) and case.name.startswith(("poisoned", "out-of-range"))
    chosen = case in _smooth(operator)[:2] or widest(operator, case) or special
    return small(operator, case) and chosen


def widest(operator: Operator, case: Case) -> bool:
    """The first of the cases with the most differentiable arguments.

    Enough for every backend but the default: rules are the operator's, and the backend is a name that they
    pass on to operators whose values are looked at on it.
    """
    return case is max(_smooth(operator), key=lambda c: len(c.differentiable), default=None)


def _smooth(operator: Operator) -> list[Case]:
    cases = operator.tagged(CONFORMANCE)
    return [case for case in cases if case.differentiable and small(operator, case)]
