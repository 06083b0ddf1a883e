"""``python -m event_ops_harness.networks.microcircuit``."""

import sys

from event_ops_harness.networks.microcircuit.cli import main

if __name__ == "__main__":
    sys.exit(main())
