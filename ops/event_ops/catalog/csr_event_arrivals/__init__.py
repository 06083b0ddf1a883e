"""The operator `csr_event_arrivals`, documented in op.py."""
