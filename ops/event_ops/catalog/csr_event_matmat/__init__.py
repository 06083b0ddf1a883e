"""The operator `csr_event_matmat`, which op.py defines."""
