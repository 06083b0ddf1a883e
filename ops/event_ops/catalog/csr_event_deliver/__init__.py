"""The operator `csr_event_deliver`: see op.py for what it computes."""
