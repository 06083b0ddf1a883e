"""The operator `segment_max`, which op.py defines."""
