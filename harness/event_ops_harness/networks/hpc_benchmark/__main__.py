"""``python -m event_ops_harness.networks.hpc_benchmark``."""

import sys

from event_ops_harness.networks.hpc_benchmark.cli import main

if __name__ == "__main__":
    sys.exit(main())
