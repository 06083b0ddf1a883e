"""The operator `spike_detect_reset`, which op.py defines."""
