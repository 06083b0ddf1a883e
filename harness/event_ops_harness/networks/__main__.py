"""``python -m event_ops_harness.networks [NAME] [OPTIONS]``: a network as a program, by its name.

Without a name it is `inhibitory_stdp`, a network that learns.
"""

import sys

from event_ops_harness.networks import coba, cuba
from event_ops_harness.networks.hpc_benchmark import __main__ as hpc_benchmark
from event_ops_harness.networks.inhibitory_stdp import __main__ as inhibitory_stdp
from event_ops_harness.networks.trained import __main__ as trained

PROGRAMS = {
    "inhibitory_stdp": inhibitory_stdp.main,
    "hpc_benchmark": hpc_benchmark.main,
    "coba": coba.main,
    "cuba": cuba.main,
    "trained": trained.main,
}

if __name__ == "__main__":
    options = sys.argv[1:]
    name = options.pop(0) if options and options[0] in PROGRAMS else "inhibitory_stdp"
    sys.exit(PROGRAMS[name](options))
