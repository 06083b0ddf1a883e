"""Time a second process where spikes are exchanged once per delay, and the cost of an all-gather.

`test_network`: the network of NEST's `hpc_benchmark` with static synapses, whose delay is 15 steps;
`--sizes`: its scales, by default 1, which is 11,250 neurons and 127 million synapses. A round is a fresh
process, or several that meet on this host, with one thread each; its time is the median of four stretches of
30 ms, after one that is not measured, without building and compiling. All have to find the same neurons
spiking in the same steps.

`test_all_gather`: a program that does nothing else, by the bytes that each device sends. Not measured:
several hosts and networks between them. Beyond the number of cores processes wait for each other's turns.
"""

import functools
import statistics

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import apart, ask_together, group_of, take_turns
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark

ONE = "1 process"
PROCESSES = {ONE: 1, "2 processes": 2}
SCALES = (1.0,)
STRETCHES, INTERVALS = 4, 20
# One thread in XLA's pool, too, since the processes share the cores.
ENVIRONMENT = {"NUMBA_NUM_THREADS": "1", "PJRT_NPROC": "1", "JAX_PLATFORMS": "cpu"}
MEMBERS = {"2 devices": (2, 1), "2 processes": (2, 2), "4 processes": (4, 4)}
BYTES = (64, 1024, 16_384, 262_144)


def pytest_generate_tests(metafunc):
    if "size" in metafunc.fixturenames:
        metafunc.parametrize("size", BYTES)
        metafunc.parametrize("member", MEMBERS)
    else:
        metafunc.parametrize("scale", options.sizes(metafunc.config, "sizes", SCALES))
        metafunc.parametrize("member", PROCESSES)


@functools.cache
def networks(splits, scale, rounds):
    """Return the group of the selected numbers of processes, one always."""
    size = {"program": "static_network", "scale": scale, "intervals": INTERVALS, "stretches": STRETCHES}
    simulate = functools.partial(ask_together, "processes", env=ENVIRONMENT)
    jobs = {
        name: functools.partial(simulate, size | {"devices": count, "processes": count})
        for name, count in PROCESSES.items()
        if name in (ONE, *splits)
    }
    answers, failed = take_turns(jobs, rounds)
    return group_of(
        answers,
        failed | apart(answers, ONE, "digest"),
        lambda each: statistics.median(each["seconds"]),
        lambda rounds: {"spikes": rounds[0]["spikes"]},
    )


@functools.cache
def all_gathers(rounds):
    """Return the answers of every split in each round, and why splits failed."""
    gather = functools.partial(ask_together, "processes", env=ENVIRONMENT)
    size = {"program": "all_gather", "bytes": BYTES}
    return take_turns(
        {
            name: functools.partial(gather, size | {"devices": devices, "processes": processes})
            for name, (devices, processes) in MEMBERS.items()
        },
        rounds,
    )


def test_network(in_turns, benchmark, request, scale, member):
    neurons = HpcBenchmark(scale=scale).neurons
    benchmark.group = f"{neurons:,} neurons, spikes exchanged every 15 steps"
    group = networks(options.selected(request), scale, in_turns.rounds)
    in_turns.report(group, member, info={"ours": True, "threads": 1, "neurons": neurons})


def test_all_gather(in_turns, benchmark, size, member):
    benchmark.group = f"all-gather, {size:,} bytes from each device"
    group = group_of(*all_gathers(in_turns.rounds), lambda each: each["seconds"][str(size)])
    in_turns.report(group, member, info={"ours": False, "threads": 1})
