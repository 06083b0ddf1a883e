"""The operator `unpack_events`, which op.py defines."""
