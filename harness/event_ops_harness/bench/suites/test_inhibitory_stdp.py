"""Time the network with inhibitory plasticity on our operators beside Brian2, per time step of 0.1 ms.

Both run in a process of their own, build their network once, and then simulate the same stretch again and
again, in turns with the other: by default the 10 s of Brian2's example, from 167 Hz before learning to some
9 Hz at the end. Measured is the loop over time steps, not the building, not the compilation; spikes are
counted, not recorded. Each may use as many cores as `--cores` says, and as many threads: 1 by default.

The model and the order of a step are the same, the methods are not: V takes an exponential Euler step here
and one of Euler in Brian2, as its example does, which costs it less. Traces are those of neurons here, and
those of synapses there.

`--sizes` are neurons, `--seconds` the model time; rounds are those of --benchmark-min-rounds.
"""

import dataclasses
import functools

from event_ops_harness.bench import options, simulators
from event_ops_harness.networks.inhibitory_stdp.model import InhibitoryStdpParameters
from event_ops_harness.networks.inhibitory_stdp.rivals import RIVALS

MODEL = InhibitoryStdpParameters()
SIZES = (10_000,)
SECONDS = 10.0


def pytest_generate_tests(metafunc):
    metafunc.parametrize("neurons", options.counts(metafunc.config, "sizes", SIZES))
    metafunc.parametrize("cores", options.counts(metafunc.config, "cores", (1,)))
    metafunc.parametrize("member", [rival.name for rival in RIVALS])


@functools.lru_cache(maxsize=1)
def group_of(rivals, neurons, cores, seconds, python, rounds):
    """Measure those simulators; `rate` is spikes per neuron and second, in Hz."""
    request = {"network": "inhibitory_stdp", "neurons": neurons, "seed": 1, "threads": cores}
    request |= {"model": dataclasses.asdict(MODEL), "steps": MODEL.steps(seconds)}
    group = simulators.measure([(rival, request) for rival in rivals], python, rounds)
    return simulators.with_rates(group, neurons * seconds)


def test_inhibitory_stdp(in_turns, benchmark, request, neurons, cores, member):
    seconds = options.option(request.config, "seconds", SECONDS)
    benchmark.group = f"{neurons:,} neurons, {seconds:g} s" + (f", {cores} cores" if cores > 1 else "")
    python = options.option(request.config, "rivals_python", simulators.rivals_python())
    chosen = simulators.chosen(RIVALS, request)
    group = group_of(chosen, neurons, cores, seconds, python, in_turns.rounds)
    theirs = [rival.name for rival in RIVALS if not rival.ours]
    in_turns.report(group, member, rivals=theirs, info={"neurons": neurons, "seconds": seconds})
