"""The microcircuit in NEST, in a process (and environment) of its own.

The worker builds the network once and simulates on demand, by the protocol of ``networks.cuba.rivals``:

    argument:  one JSON object: network (of `nest_request`), steps, seed, threads, record (a path or null)
    stdout:    one line {"ready": {...versions and settings..., "build_seconds": ...}}
    stdin:     one line per wish to simulate `steps` time steps (continuing where it stopped)
    stdout:    one line {"seconds": wall clock of the loop alone, "spikes": count}

At the end of its input it writes the recorded spikes, if it was told to record: steps and ids.
"""

from pathlib import Path
from typing import Final

from event_ops_harness.networks.shared.rivals import Rival

OURS: Final = Rival("event-ops", ("-m", f"{__name__}.event_ops_worker"), ours=True)
NEST: Final = Rival("NEST", (str(Path(__file__).with_name("nest_worker.py")),))
