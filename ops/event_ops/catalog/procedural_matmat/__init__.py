"""The operator `procedural_matmat`: see op.py for what it computes."""
