"""``python -m event_ops_harness.networks.cuba``."""

import sys

from event_ops_harness.networks.cuba.cli import main

if __name__ == "__main__":
    sys.exit(main())
