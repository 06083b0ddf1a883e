"""The operator `ell_event_matvec`: see op.py for what it computes."""
