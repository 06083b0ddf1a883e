"""The operator `izhikevich_step`: op.py is its public function and its definition."""
