"""The operator `dense_event_matvec`: see op.py for what it computes."""
