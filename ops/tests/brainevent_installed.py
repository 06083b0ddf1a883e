"""Plugin for pytest: installs the catalog before BrainEvent's own tests ask which backends there are."""

from event_ops import brainevent

brainevent.install()
