"""Plugin for pytest: installs the catalog before BrainEvent's own tests ask which backends there are."""

from importlib import import_module
from importlib.util import find_spec

from event_ops import brainevent
from event_ops.brainevent.registry import BACKEND

# The functions of tiled matrices know BrainEvent's own backends by name; under any other they raise, in front
# of their primitives. So its tests could name ours, these take it as they take the default.
if find_spec("brainevent._tcsr"):
    tiled = import_module("brainevent._tcsr.binary")
    tiled.BINARY_BACKENDS |= {BACKEND}
    theirs = tiled._grad_backend
    tiled._grad_backend = lambda backend, primitive: theirs(
        None if backend == BACKEND else backend, primitive
    )

brainevent.install()
