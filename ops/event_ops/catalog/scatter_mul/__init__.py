"""The operator `scatter_mul`: see op.py for what it computes."""
