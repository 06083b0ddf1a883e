"""The operator `dense_event_matmat`, which op.py defines."""
