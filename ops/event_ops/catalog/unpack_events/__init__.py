"""The operator `unpack_events`: see op.py for what it computes."""
