"""Time the network with STDP on our operators beside NEST, per spike.

Both run in a process of their own, build their network once, simulate one stretch that is not measured, and
then one stretch after the other in turns. Measured is the loop over time steps, not the building, not the
compilation; spikes are counted, not recorded. Each may use as many cores as `--cores` says, and as many
threads: 1 by default.

With the same synapses and input both have the same spikes, as `test_hpc_benchmark` tests. Here each draws
its own, and sooner or later, by chance, the synapses that grew make bursts. So the time of a stretch is
divided by its spikes: each reaches as many synapses, where most of the time goes. `rate` says how many there
were.

`--sizes` are scales, of neurons and of synapses onto each: 1 by default, 11,250 neurons and 127 million
synapses, 81 million of which learn. `--seconds` is the model time of a stretch, 0.05 by default: bursts begin
after some 0.3 s at this scale. Our synapses are up to date after each stretch, NEST's when they are next
read, so that short ones favour NEST. Rounds are those of --benchmark-min-rounds.
"""

from event_ops_harness.bench import options, simulators
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.rivals import hpc_benchmark_request

SCALES = (1.0,)
SECONDS = 0.05
SEED = 7  # ours has no bursts in the usual rounds


def pytest_generate_tests(metafunc):
    scales = options.sizes(metafunc.config, "sizes", SCALES)
    simulators.parametrize(metafunc, "hpc_benchmark", {"scale": scales})


def test_hpc_benchmark(in_turns, benchmark, request, scale, cores, member):
    seconds = options.option(request.config, "seconds", SECONDS)
    benchmark.group = f"scale {scale:g}, a spike" + simulators.of_cores(cores)
    model = HpcBenchmark(scale=scale)
    task = hpc_benchmark_request(model, SEED, seconds, cores)
    simulators.report(in_turns, request, task, model.neurons, per="spikes", scale=scale, seconds=seconds)
