"""The operator `hh_cond_exp_step`: see op.py for what it computes, reference.py for its definition."""
