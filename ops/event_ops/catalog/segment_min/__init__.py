"""The operator `segment_min`, which op.py defines."""
