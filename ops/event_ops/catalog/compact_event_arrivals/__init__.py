"""The operator `compact_event_arrivals`, documented in op.py."""
