"""The COBA network as rivals: on our operators, and in ``balanced/rivals`` in Brian2 and NEST."""

from typing import Final

from event_ops_harness.networks.balanced.rivals import THEIRS
from event_ops_harness.networks.shared.rivals import Rival

_OURS: Final = ("-m", f"{__name__}.event_ops_worker")
RIVALS: Final = (Rival("event-ops, catalog operators", _OURS, ours=True), *THEIRS)
