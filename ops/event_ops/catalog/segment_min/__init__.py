"""The operator `segment_min`: see op.py for what it computes."""
