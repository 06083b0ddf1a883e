"""The operator `spike_detect_reset`: op.py is its public function and its definition."""
