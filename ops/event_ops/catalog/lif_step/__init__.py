"""The operator `lif_step`: op.py is its public function and its definition."""
