"""Find who computes a case, our backends and rivals, and report one with the bytes that it must move."""

import functools
from typing import Any, Final

import pytest

from event_ops.cases import Case
from event_ops.discover import Operator
from event_ops_harness.bench import traffic
from event_ops_harness.bench.plugin import InTurns
from event_ops_harness.bench.rivals import rivals_of
from event_ops_harness.bench.steps import Problem, make_problem, steps_of
from event_ops_harness.bench.timing import Steps

REFERENCE: Final = "reference"


def backends_of(operator: Operator) -> tuple[str, ...]:
    """Return the backends on the CPU, the default first."""
    return tuple(operator.kernel.available_backends("cpu"))


@functools.lru_cache(maxsize=1)  # arrays of one case at a time
def problem_of(operator: Operator, case: Case) -> Problem:
    """Make the case, once for all of its members."""
    return make_problem(operator, case)


@functools.lru_cache(maxsize=1)
def members_of(operator: Operator, case: Case, backends: tuple[str, ...]) -> dict[str, Steps]:
    """Return who computes this: these backends, and rivals, which take flags only."""
    problem = problem_of(operator, case)
    members = {
        name: steps_of(problem, functools.partial(operator.function, backend=name, **problem.kwargs))
        for name in backends
    }
    if problem.kwargs.get("encoding", "flags") == "flags":
        rivals = {name: make(problem) for name, make in rivals_of(operator.name).items()}
        members |= {name: steps for name, steps in rivals.items() if steps is not None}
    return members


@functools.lru_cache(maxsize=1)
def ideal_of(operator: Operator, case: Case) -> int:
    """Count the bytes that a call cannot do without, once for all members."""
    problem = problem_of(operator, case)
    return traffic.bytes_moved(operator, problem.args, problem.kwargs)


def report(
    in_turns: InTurns, operator: Operator, case: Case, member: str, backends: tuple[str, ...], **info: Any
) -> None:
    """Report a member of the group of this case; skip one that does not compute it."""
    members, rivals = members_of(operator, case, backends), rivals_of(operator.name)
    if member not in members:
        pytest.skip(f"{member} does not compute this")
    # The reference counts as a rival, unless it is the default backend.
    info["ours"] = member == backends[0] or member not in (*rivals, REFERENCE)
    info |= {"operator": operator.name, "per": problem_of(operator, case).per}
    info["bytes"] = ideal_of(operator, case)
    # Two members may be off by the tolerance, each to its side.
    rtol = 2 * case.relative_tolerance(operator.dtypes[0])
    in_turns(members, member, rivals=(*rivals, REFERENCE), rtol=rtol, info=info)
