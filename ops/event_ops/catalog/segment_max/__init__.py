"""The operator `segment_max`: see op.py for what it computes."""
