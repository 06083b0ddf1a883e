"""Time operators whose kernels are parallel on one thread and on all, at the largest size, beside the triad.

The default backend on the CPU, numba_cpu, in fresh processes that Numba starts with 1 thread and with all, in
turns; a round is a process, which measures for --benchmark-max-time. Efficiency is t1 / (n * tn): 1 where n
threads take the n-th part of the time. What memory limits cannot do better than the STREAM triad, whose
efficiency was measured in the same way. A case whose kernel starts no threads is skipped.

Not measured: counts between, other backends, several kernels at a time, threads bound to cores.
"""

import functools
from statistics import median

import pytest

from event_ops.discover import operators
from event_ops_harness.bench import traffic
from event_ops_harness.bench.fresh import ask, group_of, take_turns
from event_ops_harness.bench.interleaved import Group
from event_ops_harness.bench.plugin import cores
from event_ops_harness.bench.steps import largest, named
from event_ops_harness.networks.shared.rivals import WorkerError

pytestmark = pytest.mark.skipif(cores() < 2, reason="this process may use one core")
TRIAD = "STREAM triad"
ONE = "1 thread"
MEMBERS = {f"{cores()} threads": cores(), ONE: 1}


CASES = {
    TRIAD: None,
    **{
        named(operator, case): (operator.name, case.name)
        for operator in operators()
        if "numba_cpu" in operator.kernel.available_backends("cpu")
        for case in largest(operator)
    },
}


@functools.lru_cache(maxsize=1)
def threads(what, rounds, budget):
    """Return the group of a case: as many threads as cores, and one."""
    if CASES[what] is None:
        request = {"footprint": traffic.beyond_cache()}
    else:
        request = dict(zip(("operator", "case"), CASES[what], strict=True), budget=budget)
    jobs = {name: functools.partial(measured, request, n) for name, n in MEMBERS.items()}
    answers, failed = take_turns(jobs, rounds)
    if not failed and not all(each["parallel"] for rounds in answers.values() for each in rounds):
        return Group({}, skipped=dict.fromkeys(answers, "starts no threads"))
    alone = None if failed else median(each["seconds"] for each in answers[ONE])
    return group_of(answers, failed, lambda each: each["seconds"], functools.partial(told, alone))


def measured(request, threads):
    answer = ask("threads", request, {"NUMBA_NUM_THREADS": str(threads)})
    if answer["threads"] != threads:
        raise WorkerError(f"Numba started with {answer['threads']} threads; expected {threads}")
    return answer


def told(alone, rounds):
    """Describe a member whose kernel takes `alone` seconds on one thread."""
    info = {name: rounds[0][name] for name in ("threads", "per") if name in rounds[0]}
    if alone is None:
        return info
    return info | {"efficiency": alone / (info["threads"] * median(each["seconds"] for each in rounds))}


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("what", CASES)
def test_threads(in_turns, benchmark, request, what, member):
    benchmark.group = what
    info = {"operator": CASES[what][0]} if CASES[what] else {}
    group = threads(what, in_turns.rounds, float(request.config.getoption("benchmark_max_time")))
    in_turns.report(group, member, info=info)
