"""The CUBA network in other simulators, each in a process (and environment) of its own.

A worker is a program that builds the network once and then simulates on demand, so that a
benchmark can interleave the rivals and no build time is ever measured:

    argument:  one JSON object: neurons, steps, seed, threads, model (the fields of CubaParameters)
    stdout:    one line {"ready": {...versions and settings...}}
    stdin:     one line per wish to simulate `steps` time steps (continuing where it stopped)
    stdout:    one line {"seconds": wall clock of the loop alone, "spikes": count}
"""

from pathlib import Path
from typing import Final

from event_ops_harness.networks.shared.rivals import Rival

_OURS: Final = ("-m", f"{__name__}.event_ops_worker")
_BRIAN2: Final = (str(Path(__file__).with_name("brian2_worker.py")),)
RIVALS: Final = (
    Rival("event-ops, catalog operators", _OURS, ours=True),
    Rival("event-ops, fused step", _OURS, {"fused": True}, ours=True),
    Rival("Brian2 C++ standalone", _BRIAN2),
    Rival("Brian2 C++ standalone, float32", _BRIAN2, {"dtype": "float32"}),
    Rival("NEST", (str(Path(__file__).with_name("nest_worker.py")),)),
)
