"""The operator `compact_event_matvec`, documented in op.py."""
