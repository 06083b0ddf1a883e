"""Plugin for pytest: installs the catalog before BrainEvent's own tests ask which backends there are."""

from brainevent._tcsr import binary

from event_ops import brainevent

# The functions of tiled matrices take the names of BrainEvent's own backends alone.
binary.BINARY_BACKENDS |= {"event_ops"}
brainevent.install()
