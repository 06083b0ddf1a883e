"""The operator `csr_event_matmat`: see op.py for what it computes."""
