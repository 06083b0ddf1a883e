"""``python -m event_ops_harness.networks.inhibitory_stdp``."""

import sys

from event_ops_harness.networks.inhibitory_stdp.cli import main

if __name__ == "__main__":
    sys.exit(main())
