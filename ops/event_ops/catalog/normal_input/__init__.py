"""The operator `normal_input`: see op.py for what it computes, reference.py for its definition."""
