"""The operator `dense_event_matvec`, which op.py defines."""
