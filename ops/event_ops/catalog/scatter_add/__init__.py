"""The operator `scatter_add`: see op.py for what it computes, reference.py for its definition."""
