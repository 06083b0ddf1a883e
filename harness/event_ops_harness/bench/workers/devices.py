"""Run one process of `bench devices`: the CUBA network on so many devices, of so many processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from event_ops_harness.networks.balanced.cli import connectivity_of, parser_of, placement_of, record
from event_ops_harness.networks.cuba.cli import CUBA


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wall clock of the loop, without compiling and building, and how many spikes there were."""
    words = [word for name, value in request.items() for word in (f"--{name}", str(value))]
    options = parser_of(CUBA).parse_args([*words, "--no-progress"])
    connectivity = connectivity_of(CUBA, options)
    recording = record(CUBA, options, connectivity, placement_of(CUBA, options, connectivity.neurons))
    return {"seconds": recording.seconds, "spikes": recording.spikes, "synapses": len(connectivity.indices)}


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
