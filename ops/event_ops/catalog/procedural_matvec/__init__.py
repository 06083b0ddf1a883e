"""The operator `procedural_matvec`: see op.py for what it computes."""
