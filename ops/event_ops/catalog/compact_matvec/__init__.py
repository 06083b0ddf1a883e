"""The operator `compact_matvec`: see op.py for what it computes."""
