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

from event_ops_harness.bench import options, simulators
from event_ops_harness.networks.inhibitory_stdp.network import InhibitoryStdpParameters

MODEL = InhibitoryStdpParameters()
SIZES = (10_000,)
SECONDS = 10.0


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", SIZES)
    simulators.parametrize(metafunc, "inhibitory_stdp", {"neurons": sizes})


def test_inhibitory_stdp(in_turns, benchmark, request, neurons, cores, member):
    seconds = options.option(request.config, "seconds", SECONDS)
    benchmark.group = f"{neurons:,} neurons, {seconds:g} s" + simulators.of_cores(cores)
    task = {"network": "inhibitory_stdp", "neurons": neurons, "seed": 1, "threads": cores}
    task |= {"model": dataclasses.asdict(MODEL), "steps": MODEL.steps(seconds)}
    simulators.report(in_turns, request, task, neurons, seconds=seconds)
