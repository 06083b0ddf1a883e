"""One simulation of `bench devices`: the CUBA network on so many devices, of so many processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from event_ops_harness.networks.cuba.cli import blocks_of, connectivity_of, record
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.shared.options import make_parser
from event_ops_harness.networks.shared.processes import LOOPBACK, free_port


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Wall clock of the loop, compilation and building left out, and how many spikes there were."""
    words = [word for name, value in request.items() for word in (f"--{name}", str(value))]
    options = make_parser().parse_args([*words, "--no-progress"])
    model = CubaParameters()
    connectivity = connectivity_of(options, model)
    recording = record(options, connectivity, model, blocks_of(options, connectivity.neurons))
    return {"seconds": recording.seconds, "spikes": recording.spikes, "synapses": len(connectivity.indices)}


def in_processes(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the first of so many processes of this host found."""
    coordinator = f"{LOOPBACK}:{free_port()}"
    command = [sys.executable, "-m", __spec__.name]
    pipes = {"stdout": subprocess.PIPE, "text": True}
    children = [
        subprocess.Popen(
            [*command, json.dumps({**request, "coordinator": coordinator, "process-id": k})], **pipes
        )
        for k in range(request["processes"])
    ]
    answers = [child.communicate()[0] for child in children]
    if any(child.returncode for child in children):
        raise SystemExit(f"exit status of the processes: {[child.returncode for child in children]}")
    return json.loads(answers[0].splitlines()[-1])


def main(request: Mapping[str, Any]) -> dict[str, Any]:
    """In this process, or in several that it starts."""
    several = request.get("processes", 1) > 1 and "coordinator" not in request
    return in_processes(request) if several else measure(request)


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
