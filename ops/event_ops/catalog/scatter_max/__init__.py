"""The operator `scatter_max`: see op.py for what it computes."""
