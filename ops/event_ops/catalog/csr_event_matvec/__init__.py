"""The operator `csr_event_matvec`: see op.py for what it computes."""
