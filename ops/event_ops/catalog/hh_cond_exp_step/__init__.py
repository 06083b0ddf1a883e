"""The operator `hh_cond_exp_step`, which op.py defines."""
