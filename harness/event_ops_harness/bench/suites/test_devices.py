"""Time the CUBA network split over devices of one process, and over processes.

A round is a simulation (`--seconds` of model time, by default 1; `--sizes`: neurons): a fresh process, or
several that meet on this host, with one thread of Numba each; the loop alone, without building and compiling.
All have to find the same number of spikes. Beyond the number of cores devices share them: what the exchange
costs then shows as time lost, not as scaling. Not measured: several hosts, networks between them, GPUs.
"""

import functools

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import apart, ask_together, group_of, take_turns

ONE = "1 device"
SPLITS = {
    ONE: {},
    "2 devices": {"devices": 2},
    "4 devices": {"devices": 4},
    "2 processes": {"processes": 2},
    "4 processes": {"processes": 4},
}
NEURONS = (4000, 40_000)
ENVIRONMENT = {"NUMBA_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}


def pytest_generate_tests(metafunc):
    metafunc.parametrize("neurons", options.counts(metafunc.config, "sizes", NEURONS))
    metafunc.parametrize("member", SPLITS)


@functools.cache
def devices(splits, neurons, seconds, rounds):
    """Return the group of the selected splits of a network, one device always."""
    size = {"program": "cuba", "neurons": neurons, "seconds": seconds}
    names = [name for name in SPLITS if name in (ONE, *splits)]
    simulate = functools.partial(ask_together, "processes", env=ENVIRONMENT)
    answers, failed = take_turns({x: functools.partial(simulate, size | SPLITS[x]) for x in names}, rounds)
    return group_of(
        answers,
        failed | apart(answers, ONE, "spikes"),
        lambda each: each["seconds"],
        lambda rounds: {name: rounds[0][name] for name in ("spikes", "synapses")},
    )


def test_devices(in_turns, benchmark, request, neurons, member):
    benchmark.group = f"{neurons:,} neurons"
    seconds = options.option(request.config, "seconds", 1.0)
    group = devices(options.selected(request), neurons, seconds, in_turns.rounds)
    in_turns.report(group, member, info={"ours": True, "threads": 1})
