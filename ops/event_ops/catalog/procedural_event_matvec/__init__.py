"""The operator `procedural_event_matvec`: see op.py for what it computes."""
