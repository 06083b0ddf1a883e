"""``python -m event_ops_harness.networks.microcircuit``."""

import sys

from event_ops_harness.networks.microcircuit.cli import main
from event_ops_harness.networks.shared.threads import leave_a_processor

if __name__ == "__main__":
    leave_a_processor()
    sys.exit(main())
