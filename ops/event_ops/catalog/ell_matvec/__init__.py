"""The operator `ell_matvec`: see op.py for what it computes."""
