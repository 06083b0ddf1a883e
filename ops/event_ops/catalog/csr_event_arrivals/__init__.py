"""The operator `csr_event_arrivals`, which op.py defines."""
