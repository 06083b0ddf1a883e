"""The operator `lif_cond_alpha_step`, which op.py defines."""
