"""The operator `scatter_mul`: see op.py for what it computes, reference.py for its definition."""
