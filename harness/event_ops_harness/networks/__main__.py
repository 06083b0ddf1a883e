"""``python -m event_ops_harness.networks``: a network that learns, `inhibitory_stdp` or `hpc_benchmark`."""

import sys

from event_ops_harness.networks.hpc_benchmark import cli as hpc_benchmark
from event_ops_harness.networks.inhibitory_stdp import cli as inhibitory_stdp

PROGRAMS = {"inhibitory_stdp": inhibitory_stdp, "hpc_benchmark": hpc_benchmark}

if __name__ == "__main__":
    options = sys.argv[1:]
    name = options.pop(0) if options and options[0] in PROGRAMS else "inhibitory_stdp"
    sys.exit(PROGRAMS[name].main(options))
