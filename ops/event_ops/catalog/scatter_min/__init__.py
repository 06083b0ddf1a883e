"""The operator `scatter_min`: see op.py for what it computes, reference.py for its definition."""
