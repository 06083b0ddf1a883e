"""The CUBA network on our own operators, as a rival."""

import json
import sys

from event_ops_harness.networks.balanced.rivals.ours import prepare
from event_ops_harness.networks.cuba.cli import CUBA
from event_ops_harness.networks.shared.worker import serve

if __name__ == "__main__":
    serve(prepare(CUBA, json.loads(sys.argv[1])))
