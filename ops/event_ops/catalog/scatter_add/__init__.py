"""The operator `scatter_add`: see op.py for what it computes."""
