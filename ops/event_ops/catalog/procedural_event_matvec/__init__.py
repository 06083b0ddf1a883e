"""The operator `procedural_event_matvec`, which op.py defines."""
