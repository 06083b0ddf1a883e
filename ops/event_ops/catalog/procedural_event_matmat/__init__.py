"""The operator `procedural_event_matmat`: see op.py for what it computes."""
