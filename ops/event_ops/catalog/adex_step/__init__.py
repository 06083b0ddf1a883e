"""The operator `adex_step`: op.py defines it, and says what it computes."""
