"""The operator `csr_event_matmat`, documented in op.py."""
