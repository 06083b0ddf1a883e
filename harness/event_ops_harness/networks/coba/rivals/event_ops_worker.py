"""The COBA network on our own operators, as a rival."""

import json
import sys

from event_ops_harness.networks.balanced.rivals.ours import prepare
from event_ops_harness.networks.coba.cli import COBA
from event_ops_harness.networks.shared.worker import serve

if __name__ == "__main__":
    serve(prepare(COBA, json.loads(sys.argv[1])))
