"""Run one process of `bench threads`: one case, or the triad, with the threads that Numba started with."""

import functools
from collections.abc import Mapping
from typing import Any

import numba

from event_ops.discover import operators
from event_ops_harness.bench import traffic
from event_ops_harness.bench.steps import make_problem, steps_of
from event_ops_harness.bench.timing import times_per_step


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of a call or step, whether its kernel has a thread pool and its threads."""
    footprint = request.get("footprint")
    answer = {"seconds": footprint / traffic.bytes_per_second(footprint)} if footprint else _case(request)
    # In this order: to ask for the count starts the threads.
    return answer | {"parallel": _has_threads(), "threads": numba.get_num_threads()}


def _case(request: Mapping[str, Any]) -> dict[str, Any]:
    operator = next(x for x in operators() if x.name == request["operator"])
    case = next(x for x in operator.cases if x.name == request["case"])
    problem = make_problem(operator, case)
    function = functools.partial(operator.function, backend="numba_cpu", **problem.kwargs)
    runs = {"": steps_of(problem, function).run}
    times = times_per_step(runs, rounds=3, budget=request["budget"])
    return {"seconds": min(times[""]), "per": problem.per}


def _has_threads() -> bool:
    """Say whether Numba has started threads: the first parallel kernel does, which can only be ours here."""
    try:
        numba.threading_layer()  # pyright: ignore[reportPrivateImportUsage]
    except ValueError:
        return False
    return True
