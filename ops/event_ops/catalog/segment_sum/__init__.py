"""The operator `segment_sum`: see op.py for what it computes."""
