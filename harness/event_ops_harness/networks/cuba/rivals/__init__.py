"""The CUBA network as rivals: on our operators, in Brian2 and in NEST.

The protocol is in ``shared/rivals.py``. Each is asked for: neurons, steps, seed, threads, and model, the
fields of CubaParameters.
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
