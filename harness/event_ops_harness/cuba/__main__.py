"""``python -m event_ops_harness.cuba``."""

import sys

from event_ops_harness.cuba.cli import main

if __name__ == "__main__":
    sys.exit(main())
