"""The operator `spike_compact`, which op.py defines."""
