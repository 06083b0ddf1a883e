"""The operator `csr_event_matvec`, which op.py defines."""
