"""The operator `lif_cond_alpha_step`: op.py defines it, and says what it computes."""
