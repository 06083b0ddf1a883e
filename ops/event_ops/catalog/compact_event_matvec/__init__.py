"""The operator `compact_event_matvec`, which op.py defines."""
