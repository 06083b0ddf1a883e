"""The operator `compact_event_matvec`: see op.py for what it computes."""
