"""The operator `expsyn_step`: op.py is its public function, reference.py its definition."""
