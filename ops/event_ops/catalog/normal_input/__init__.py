"""The operator `normal_input`: see op.py for what it computes."""
