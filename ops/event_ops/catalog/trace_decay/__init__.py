"""The operator `trace_decay`: op.py defines it, and says what it computes."""
