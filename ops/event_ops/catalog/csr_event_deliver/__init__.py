"""The operator `csr_event_deliver`, which op.py defines."""
