"""The operator `spike_detect_reset`: op.py defines it, and says what it computes."""
