"""The operator `csr_event_arrivals`: see op.py for what it computes."""
