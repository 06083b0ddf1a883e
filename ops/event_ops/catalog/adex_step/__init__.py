"""The operator `adex_step`: see op.py for what it computes, reference.py for its definition."""
