"""The operator `compact_event_arrivals`, which op.py defines."""
