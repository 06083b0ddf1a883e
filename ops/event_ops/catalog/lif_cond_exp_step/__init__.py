"""The operator `lif_cond_exp_step`, which op.py defines."""
