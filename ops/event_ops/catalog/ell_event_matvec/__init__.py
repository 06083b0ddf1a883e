"""The operator `ell_event_matvec`, documented in op.py."""
