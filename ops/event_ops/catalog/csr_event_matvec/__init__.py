"""The operator `csr_event_matvec`, documented in op.py."""
