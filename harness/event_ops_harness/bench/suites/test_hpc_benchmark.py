"""Time the network with STDP on our operators beside NEST, per time step of 0.1 ms.

Both run in a process of their own, build their network once, simulate one stretch that is not measured, and
then one stretch after the other in turns. Measured is the loop over time steps, not the building, not the
compilation; spikes are counted, not recorded. Each may use as many cores as `--cores` says, and as many
threads: 1 by default.

`--sizes` are scales, of neurons and of synapses onto each: 1 by default, 11,250 neurons and 127 million
synapses, 81 million of which learn. `--seconds` is the model time of a stretch, 0.05 by default, since this
network does not stay as it is for long at this scale; rounds are those of --benchmark-min-rounds.
"""

import functools

from event_ops_harness.bench import options, simulators
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.rivals import NEST, OURS, request_of

RIVALS = OURS, NEST
SCALES = (1.0,)
SECONDS = 0.05


def pytest_generate_tests(metafunc):
    metafunc.parametrize("scale", options.sizes(metafunc.config, "sizes", SCALES))
    metafunc.parametrize("cores", options.counts(metafunc.config, "cores", (1,)))
    metafunc.parametrize("member", [rival.name for rival in RIVALS])


@functools.lru_cache(maxsize=1)
def group_of(rivals, scale, cores, seconds, python, rounds):
    """Measure those simulators; `rate` is spikes per neuron and second, in Hz, in the last stretch."""
    model = HpcBenchmark(scale=scale)
    request = request_of(model, 1, seconds, cores)
    group = simulators.measure([(rival, request) for rival in rivals], python, rounds)
    return simulators.with_rates(group, model.neurons * seconds)


def test_hpc_benchmark(in_turns, benchmark, request, scale, cores, member):
    seconds = options.option(request.config, "seconds", SECONDS)
    benchmark.group = f"scale {scale:g}" + (f", {cores} cores" if cores > 1 else "")
    python = options.option(request.config, "rivals_python", simulators.rivals_python())
    chosen = simulators.chosen(RIVALS, request)
    group = group_of(chosen, scale, cores, seconds, python, in_turns.rounds)
    info = {"scale": scale, "neurons": HpcBenchmark(scale=scale).neurons, "seconds": seconds}
    in_turns.report(group, member, rivals=[NEST.name], info=info)
