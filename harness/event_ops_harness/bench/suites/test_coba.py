"""Time the COBA network on our operators beside Brian2 and NEST, per time step of 0.1 ms.

Measured, and not measured, is the same as by `cuba`, with the same options.

The models are the same, the methods are not: V takes an exponential Euler step here, with the means of the
conductances over the step, and in Brian2, with their values before it; in NEST it takes adaptive steps of
Runge-Kutta-Fehlberg 4(5), which cost more and err less.
"""

from event_ops_harness.bench import options, simulators
from event_ops_harness.networks.coba import COBA


def pytest_generate_tests(metafunc):
    sizes = options.counts(metafunc.config, "sizes", (4000, 40_000))
    simulators.parametrize(metafunc, "coba", {"neurons": sizes})


def test_coba(in_turns, benchmark, request, neurons, cores, member):
    simulators.report_balanced(in_turns, benchmark, request, COBA, cores)
