"""The operator `unpack_events`: see op.py for what it computes, reference.py for its definition."""
