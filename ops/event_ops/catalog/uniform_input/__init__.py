"""The operator `uniform_input`: see op.py for what it computes."""
