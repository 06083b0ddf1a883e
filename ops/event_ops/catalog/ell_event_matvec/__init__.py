"""The operator `ell_event_matvec`, which op.py defines."""
