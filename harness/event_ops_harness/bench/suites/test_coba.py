"""Time the COBA network on our operators beside Brian2 and NEST, per time step of 0.1 ms.

Every simulator runs in a process of its own, builds its network once, and then simulates the same stretch
again and again (NEST: one stretch after the other), in turns with the others. Measured is the loop over time
steps, not the building, not the compilation; spikes are counted, not recorded. Each simulator may use as many
cores as `--cores` says, and as many threads: 1 by default. Brian2 runs as a program of C++, and from Python
with code of Cython, which has one thread.

The models are the same, the methods are not: V takes an exponential Euler step here, with the means of the
conductances over the step, and in Brian2, with their values before it; in NEST it takes adaptive steps of
Runge-Kutta-Fehlberg 4(5), which cost more and err less.

Not measured: networks with delays (here a spike arrives within its step; in NEST one step later, the shortest
it knows, which makes it exchange spikes at every step).

`--sizes` are neurons; rounds are those of --benchmark-min-rounds, at most 3 from 200,000 neurons up.
"""

from event_ops_harness.bench import options, simulators
from event_ops_harness.networks.coba import COBA


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", (4000, 40_000))
    simulators.parametrize(metafunc, "coba", {"neurons": sizes})


def test_coba(in_turns, benchmark, request, neurons, cores, member):
    simulators.report_balanced(in_turns, benchmark, request, COBA, cores)
