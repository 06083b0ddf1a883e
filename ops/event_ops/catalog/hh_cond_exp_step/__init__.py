"""The operator `hh_cond_exp_step`: op.py defines it, and says what it computes."""
