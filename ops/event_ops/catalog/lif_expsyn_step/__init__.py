"""The operator `lif_expsyn_step`: op.py defines it, and says what it computes."""
