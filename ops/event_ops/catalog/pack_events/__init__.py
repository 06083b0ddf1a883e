"""The operator `pack_events`: see op.py for what it computes."""
