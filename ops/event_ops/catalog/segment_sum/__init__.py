"""The operator `segment_sum`, which op.py defines."""
