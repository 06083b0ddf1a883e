"""The operator `spike_compact`: see op.py for what it computes."""
