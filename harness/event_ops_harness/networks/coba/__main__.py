"""``python -m event_ops_harness.networks.coba``."""

import sys

from event_ops_harness.networks.coba.cli import main

if __name__ == "__main__":
    sys.exit(main())
