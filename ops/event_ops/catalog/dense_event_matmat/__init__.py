"""The operator `dense_event_matmat`: see op.py for what it computes."""
