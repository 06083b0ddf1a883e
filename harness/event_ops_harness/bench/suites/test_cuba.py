"""Time the CUBA network on our operators beside Brian2 C++ standalone and NEST, per time step of 0.1 ms.

Every simulator runs in a process of its own, builds its network once, and then simulates the same stretch
again and again (NEST: one stretch after the other), in turns with the others. Measured is the loop over time
steps, not the building, not the compilation; spikes are counted, not recorded. Each simulator may use as many
cores as `--cores` says, and as many threads: 1 by default.

Not measured: networks with delays (here a spike arrives within its step; in NEST one step later, the shortest
it knows, which makes it exchange spikes at every step).

`--sizes` are neurons; rounds are those of --benchmark-min-rounds, at most 3 from 200,000 neurons up.
"""

import dataclasses
import functools

from event_ops_harness.bench import asked, simulators
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.rivals import RIVALS

SIZES = (4000, 40_000)
NEURON_STEPS = 40_000_000  # per round: about as long at every size
MODEL = CubaParameters()


def pytest_generate_tests(metafunc):
    metafunc.parametrize("neurons", asked.counts(metafunc.config, "sizes", SIZES))
    metafunc.parametrize("cores", asked.counts(metafunc.config, "cores", (1,)))
    metafunc.parametrize("member", [rival.name for rival in RIVALS])


def steps_for(neurons):
    return max(200, min(10_000, NEURON_STEPS // neurons))


def rounds_for(neurons, rounds):
    """Take fewer for large networks: Brian2 draws its synapses anew in each round, for a minute there."""
    return rounds if neurons < 200_000 else min(rounds, 3)


@functools.lru_cache(maxsize=1)
def group_of(names, neurons, cores, python, rounds):
    """Measure the simulators of these names; `rate` is spikes per neuron and second, in Hz."""
    steps = steps_for(neurons)
    request = {"neurons": neurons, "steps": steps, "seed": 1, "threads": cores}
    request["model"] = dataclasses.asdict(MODEL)
    jobs = [(rival, request) for rival in RIVALS if rival.name in names]
    group = simulators.measure(jobs, python, rounds_for(neurons, rounds))
    neuron_seconds = neurons * steps * MODEL.dt * 1e-3
    rates = {name: {**said, "rate": said["spikes"] / neuron_seconds} for name, said in group.info.items()}
    return dataclasses.replace(group, info=rates)


def test_cuba(in_turns, benchmark, request, neurons, cores, member):
    benchmark.group = f"{neurons:,} neurons" + (f", {cores} cores" if cores > 1 else "")
    python = asked.option(request.config, "rivals_python", simulators.rivals_python())
    group = group_of(asked.selected(request), neurons, cores, python, in_turns.rounds)
    theirs = [rival.name for rival in RIVALS if not rival.ours]
    in_turns.report(group, member, rivals=theirs, info={"neurons": neurons, "size": neurons})
