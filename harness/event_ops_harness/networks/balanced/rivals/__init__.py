"""Balanced networks in Brian2 and NEST; the protocol is in ``shared/rivals.py``.

Each is asked for: network, its name; neurons, steps, seed, threads, and model, the fields of its parameters.
With `record`, a path, it writes there the steps and ids of the spikes, at the end of its input.
The network with inhibitory plasticity is here, too, in Brian2: of it the weights are written as well.
"""

from pathlib import Path
from typing import Final

from event_ops_harness.networks.shared.rivals import Rival

_BRIAN2: Final = (str(Path(__file__).with_name("brian2_worker.py")),)
STANDALONE: Final = Rival("Brian2 C++ standalone", _BRIAN2)
CYTHON: Final = Rival("Brian2 Cython", _BRIAN2, {"target": "cython"})
NEST: Final = Rival("NEST", (str(Path(__file__).with_name("nest_worker.py")),))
THEIRS: Final = (
    STANDALONE,
    Rival("Brian2 C++ standalone, float32", _BRIAN2, {"dtype": "float32"}),
    CYTHON,
    NEST,
)
