"""Balanced networks in Brian2 and NEST; the protocol is in ``shared/rivals.py``.

Each is asked for: neurons, steps, seed, threads, and model, the fields of the network's parameters.
"""

from pathlib import Path
from typing import Final

from event_ops_harness.networks.shared.rivals import Rival

_BRIAN2: Final = (str(Path(__file__).with_name("brian2_worker.py")),)
THEIRS: Final = (
    Rival("Brian2 C++ standalone", _BRIAN2),
    Rival("Brian2 C++ standalone, float32", _BRIAN2, {"dtype": "float32"}),
    Rival("NEST", (str(Path(__file__).with_name("nest_worker.py")),)),
)
