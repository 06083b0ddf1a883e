"""The operator `lif_cond_exp_step`: op.py is its public function and its definition."""
