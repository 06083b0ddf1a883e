"""The operator `csr_event_deliver`, documented in op.py."""
