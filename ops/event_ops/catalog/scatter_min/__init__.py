"""The operator `scatter_min`: see op.py for what it computes."""
