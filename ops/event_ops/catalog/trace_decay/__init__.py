"""The operator `trace_decay`: op.py is its public function and its definition."""
