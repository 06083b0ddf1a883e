"""The operator `lif_cond_alpha_step`: op.py is its public function and its definition."""
