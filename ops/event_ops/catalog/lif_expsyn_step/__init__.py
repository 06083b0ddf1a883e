"""The operator `lif_expsyn_step`: op.py is its public function and its definition."""
