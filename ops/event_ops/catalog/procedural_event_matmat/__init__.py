"""The operator `procedural_event_matmat`: see op.py for what it computes, reference.py for its definition."""
