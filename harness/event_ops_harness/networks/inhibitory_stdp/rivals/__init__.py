"""The network with inhibitory plasticity as a rival: on our operators, in ``balanced/rivals`` in Brian2."""

from typing import Final

from event_ops_harness.networks.balanced.rivals import STANDALONE
from event_ops_harness.networks.shared.rivals import Rival

_OURS: Final = ("-m", f"{__name__}.event_ops_worker")
RIVALS: Final = (Rival("event-ops", _OURS, ours=True), STANDALONE)
